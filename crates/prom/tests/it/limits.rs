//! Queries that exceed limits.

use super::source::Memory;
use atsdb_prom::evaluate::{EvaluateError, LOOKBACK_MS, Limits, evaluate_instant, evaluate_range};
use atsdb_prom::labels::Labels;
use atsdb_prom::promql::parse;

fn memory() -> Memory {
    let mut memory = Memory::default();
    for time in 0..100 {
        memory.add(Labels::new([("__name__", "m")]), time * 1000, 1.0);
    }
    memory
}

fn error(query: &str, samples_max: usize, stop: bool) -> EvaluateError {
    let limits = Limits { lookback_ms: LOOKBACK_MS, samples_max, stop: &|| stop };
    evaluate_instant(&memory(), query, &parse(query).unwrap(), 100_000, &limits).unwrap_err()
}

#[test]
fn too_many_samples_and_a_stop_end_a_query() {
    assert!(matches!(error("sum_over_time(m[5m])", 50, false), EvaluateError::TooManySamples));
    assert!(matches!(error("sum_over_time(vector(1)[200y:1ms])", 50_000_000, false), EvaluateError::TooManySamples));
    assert!(matches!(error("m", 1000, true), EvaluateError::Stopped));
    let limits = Limits { lookback_ms: LOOKBACK_MS, samples_max: 1000, stop: &|| false };
    let expr = parse("m").unwrap();
    let many = evaluate_range(&memory(), "m", &expr, (0, 10_000_000, 1), &limits);
    assert!(matches!(many, Err(EvaluateError::TooManySamples)));
}

#[test]
fn deep_expressions_are_evaluated_or_refused() {
    let limits = Limits { lookback_ms: LOOKBACK_MS, samples_max: 1_000_000, stop: &|| false };
    let deep = |depth: usize| format!("{}m{}", "abs(-(".repeat(depth), "))".repeat(depth));
    let query = deep(90);
    evaluate_instant(&memory(), &query, &parse(&query).unwrap(), 100_000, &limits).unwrap();
    let long = vec!["m"; 290].join(" + ");
    evaluate_range(&memory(), &long, &parse(&long).unwrap(), (0, 100_000, 1000), &limits).unwrap();
    for query in [deep(5000), vec!["m"; 100_000].join("+"), "-".repeat(100_000), "(".repeat(100_000)] {
        assert!(parse(&query).unwrap_err().message.contains("nested more than"), "{}", &query[..20]);
    }
}
