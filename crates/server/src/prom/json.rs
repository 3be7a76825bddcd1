//! JSON in the form of Prometheus' API.

use super::source::SeriesExemplars;
use atsdb_prom::evaluate::{Outcome, ResultValue, Sample};
use atsdb_prom::histogram::Histogram;
use atsdb_prom::labels::Labels;
use std::fmt::Write;

/// A text in quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    push_quoted(&mut quoted, text);
    quoted
}

fn push_quoted(json: &mut String, text: &str) {
    json.push('"');
    for letter in text.chars() {
        match letter {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            control if (control as u32) < 0x20 => {
                let _ = write!(json, "\\u{:04x}", control as u32);
            }
            other => json.push(other),
        }
    }
    json.push('"');
}

/// Texts as an array.
pub(crate) fn array<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let texts: Vec<String> = texts.map(quoted).collect();
    format!("[{}]", texts.join(","))
}

/// Labels as an object.
pub(crate) fn push_labels(json: &mut String, labels: &Labels) {
    json.push('{');
    for (index, (name, value)) in labels.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        push_quoted(json, name);
        json.push(':');
        push_quoted(json, value);
    }
    json.push('}');
}

/// Milliseconds as seconds, with as many decimals as necessary.
fn push_time(json: &mut String, milliseconds: i64) {
    let (seconds, rest) = (milliseconds / 1000, milliseconds % 1000);
    if rest == 0 {
        let _ = write!(json, "{seconds}");
        return;
    }
    let sign = if milliseconds < 0 { "-" } else { "" };
    let digits = format!("{:03}", rest.abs());
    let _ = write!(json, "{sign}{}.{}", seconds.abs(), digits.trim_end_matches('0'));
}

/// A number in quotes, so that infinities and NaN are possible, too.
fn push_value(json: &mut String, value: f64) {
    let size = value.abs();
    if value.is_nan() {
        json.push_str("\"NaN\"");
    } else if value.is_infinite() {
        json.push_str(if value > 0.0 { "\"+Inf\"" } else { "\"-Inf\"" });
    } else if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
        let _ = write!(json, "\"{mantissa}e{sign}{digits:0>2}\"");
    } else {
        let _ = write!(json, "\"{value}\"");
    }
}

fn push_point(json: &mut String, (time, value): (i64, f64)) {
    json.push('[');
    push_time(json, time);
    json.push(',');
    push_value(json, value);
    json.push(']');
}

/// A histogram without its empty buckets. Each bucket begins with a number that says which of its bounds are inside.
fn push_histogram(json: &mut String, time: i64, histogram: &Histogram) {
    json.push('[');
    push_time(json, time);
    json.push_str(",{\"count\":");
    push_value(json, histogram.count);
    json.push_str(",\"sum\":");
    push_value(json, histogram.sum);
    let buckets = histogram.buckets();
    for (index, bucket) in buckets.iter().filter(|bucket| bucket.count != 0.0).enumerate() {
        json.push_str(if index > 0 { "," } else { ",\"buckets\":[" });
        json.push_str(match (bucket.lower_inclusive, bucket.upper_inclusive) {
            (false, true) => "[0",
            (true, false) => "[1",
            (false, false) => "[2",
            (true, true) => "[3",
        });
        for number in [bucket.lower, bucket.upper, bucket.count] {
            json.push(',');
            push_value(json, number);
        }
        json.push(']');
    }
    if buckets.iter().any(|bucket| bucket.count != 0.0) {
        json.push(']');
    }
    json.push_str("}]");
}

/// The exemplars of series, as `query_exemplars` answers with them.
pub(crate) fn exemplars(all: &[SeriesExemplars]) -> String {
    let mut json = String::from("[");
    for (index, series) in all.iter().enumerate() {
        json.push_str(if index > 0 { ",{\"seriesLabels\":" } else { "{\"seriesLabels\":" });
        push_labels(&mut json, &series.labels);
        json.push_str(",\"exemplars\":[");
        for (index, exemplar) in series.exemplars.iter().enumerate() {
            json.push_str(if index > 0 { ",{\"labels\":" } else { "{\"labels\":" });
            push_labels(&mut json, &exemplar.labels);
            json.push_str(",\"value\":");
            push_value(&mut json, exemplar.value);
            json.push_str(",\"timestamp\":");
            push_time(&mut json, exemplar.time);
            json.push('}');
        }
        json.push_str("]}");
    }
    json.push(']');
    json
}

/// The result of a query. `series_max` limits the number of series; 0 means no limit.
pub(crate) fn result(outcome: &Outcome, series_max: usize) -> String {
    let mut json = String::new();
    let shown = |count: usize| if series_max == 0 { count } else { count.min(series_max) };
    match &outcome.value {
        ResultValue::Scalar(time, value) => {
            json.push_str("{\"resultType\":\"scalar\",\"result\":");
            push_point(&mut json, (*time, *value));
        }
        ResultValue::Text(time, text) => {
            json.push_str("{\"resultType\":\"string\",\"result\":[");
            push_time(&mut json, *time);
            json.push(',');
            push_quoted(&mut json, text);
            json.push(']');
        }
        ResultValue::Vector(series) => {
            json.push_str("{\"resultType\":\"vector\",\"result\":[");
            for (index, (labels, time, sample)) in series[..shown(series.len())].iter().enumerate() {
                json.push_str(if index > 0 { ",{\"metric\":" } else { "{\"metric\":" });
                push_labels(&mut json, labels);
                match sample {
                    Sample::Number(value) => {
                        json.push_str(",\"value\":");
                        push_point(&mut json, (*time, *value));
                    }
                    Sample::Histogram(histogram) => {
                        json.push_str(",\"histogram\":");
                        push_histogram(&mut json, *time, histogram);
                    }
                }
                json.push('}');
            }
            json.push(']');
        }
        ResultValue::Matrix(all) => {
            json.push_str("{\"resultType\":\"matrix\",\"result\":[");
            for (index, series) in all[..shown(all.len())].iter().enumerate() {
                json.push_str(if index > 0 { ",{\"metric\":" } else { "{\"metric\":" });
                push_labels(&mut json, &series.labels);
                for (index, point) in series.points.iter().enumerate() {
                    json.push_str(if index > 0 { "," } else { ",\"values\":[" });
                    push_point(&mut json, *point);
                }
                if !series.points.is_empty() {
                    json.push(']');
                }
                for (index, (time, histogram)) in series.histograms.iter().enumerate() {
                    json.push_str(if index > 0 { "," } else { ",\"histograms\":[" });
                    push_histogram(&mut json, *time, histogram);
                }
                if !series.histograms.is_empty() {
                    json.push(']');
                }
                json.push('}');
            }
            json.push(']');
        }
    }
    json.push('}');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_written_as_prometheus_does() {
        let value = |value: f64| {
            let mut json = String::new();
            push_value(&mut json, value);
            json
        };
        for (number, text) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (-0.1, "-0.1"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e-7, "1.5e-07"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(value(number), format!("\"{text}\""));
        }
        for (time, text) in [(0, "0"), (1500, "1.5"), (1_435_781_451_781, "1435781451.781"), (-20, "-0.02")] {
            let mut json = String::new();
            push_time(&mut json, time);
            assert_eq!(json, text);
        }
        assert_eq!(quoted("a\"\\\n\u{1}ä"), "\"a\\\"\\\\\\n\\u0001ä\"");
    }
}
