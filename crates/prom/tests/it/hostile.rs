//! Histograms with values that no client sends.

use super::source::Memory;
use atsdb_prom::evaluate::{LOOKBACK_MS, Limits, evaluate_instant, evaluate_range};
use atsdb_prom::histogram::{Buckets, CUSTOM_SCHEMA, Histogram, ResetHint, Span};
use atsdb_prom::labels::Labels;
use atsdb_prom::promql::parse;

const NUMBERS: [f64; 8] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1e-320, 3.5, f64::MAX];

const SPANS: [(i32, u32); 6] = [(0, 3), (i32::MIN, 2), (i32::MAX, 2), (-5, u32::MAX), (i32::MAX, u32::MAX), (2, 1)];

/// A histogram that depends on a number in no simple way.
fn histogram(number: usize) -> Histogram {
    let float = |salt: usize| NUMBERS[(number * 7 + salt * 3 + number / 8) % NUMBERS.len()];
    let spans = |salt: usize| {
        let all = (0..number % 4).map(|index| SPANS[(number + salt + index) % SPANS.len()]);
        all.map(|(offset, length)| Span { offset, length }).collect()
    };
    let counts = |salt: usize| (0..number % 6).map(|index| float(index + salt)).collect();
    Histogram {
        schema: [0, -4, 8, CUSTOM_SCHEMA, i8::MIN, i8::MAX, 3, CUSTOM_SCHEMA][number % 8],
        zero_threshold: float(1),
        zero_count: float(2),
        count: float(3),
        sum: float(4),
        positive: Buckets { spans: spans(0), counts: counts(5) },
        negative: Buckets { spans: spans(1), counts: counts(6) },
        custom_bounds: (0..number % 3).map(|index| float(index + 7)).collect(),
        reset_hint: [ResetHint::Unknown, ResetHint::Reset, ResetHint::NoReset, ResetHint::Gauge][number / 3 % 4],
    }
}

#[test]
fn no_query_panics_on_histograms_that_are_not_valid() {
    let mut memory = Memory::default();
    for number in 0..480 {
        let labels = Labels::new([("__name__", "h"), ("n", ["a", "b", "c", "d", "e", "f"][number / 8 % 6])]);
        let time = i64::try_from(number % 8 + number / 48 * 8).unwrap() * 15_000;
        let _ = histogram(number).check();
        memory.add_histogram(labels, time, &histogram(number));
    }
    let limits = Limits { lookback_ms: LOOKBACK_MS, samples_max: 10_000_000, stop: &|| false };
    let mut queries: Vec<String> = [
        "h",
        "-h",
        "h[5m]",
        "h * 3",
        "h / 0",
        "2 * h",
        "h + h",
        "h - ignoring(n) group_left() h{n=\"a\"}",
        "h == h",
        "h != h",
        "h </ 1",
        "h >/ -0.5",
        "h </ NaN",
        "sum(h)",
        "avg(h)",
        "count(h)",
        "count_values(\"v\", h)",
        "limitk(3, h)",
        "topk(2, h)",
        "histogram_avg(h)",
        "histogram_stddev(h)",
        "histogram_quantile(0.9, h)",
        "histogram_quantile(0.1, h)",
        "histogram_fraction(-1, 2, h)",
        "histogram_count(sum(h))",
        "h smoothed",
        "h[5m:1m]",
        "rate(h[5m:17s])",
        "changes(h[5m] anchored)",
        "resets(h[5m] anchored)",
    ]
    .map(str::to_owned)
    .to_vec();
    for function in ["rate", "increase", "delta"] {
        queries.extend(["", " anchored", " smoothed"].map(|edge| format!("{function}(h[2m]{edge})")));
    }
    for function in ["irate", "idelta", "sum_over_time", "avg_over_time", "last_over_time", "changes", "resets"] {
        queries.push(format!("{function}(h[2m])"));
    }
    for query in &queries {
        let expr = parse(query).unwrap_or_else(|error| panic!("{query}: {error}"));
        // An error is fine.
        let _ = evaluate_instant(&memory, query, &expr, 600_000, &limits);
        let _ = evaluate_range(&memory, query, &expr, (0, 1_300_000, 7_000), &limits);
    }
}
