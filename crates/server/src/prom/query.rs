//! Queries: `query` and `query_range`.

use super::answer::{ApiError, ApiErrorKind, success};
use super::context::Prom;
use super::json;
use super::params::Params;
use super::source::StoreSource;
use super::work::blocking_for;
use atsdb_prom::evaluate::{LOOKBACK_MS, Limits, Outcome, ResultValue, evaluate_instant, evaluate_range};
use atsdb_prom::histogram::SAMPLE_BYTES;
use atsdb_prom::promql::{Expr, parse};
use axum::response::Response;
use std::time::Duration;

/// The maximum number of steps of a range query, as in Prometheus.
const STEPS_MAX: i64 = 11_000;

/// The maximum duration of a query, which is Prometheus' default.
const TIME_MAX: Duration = Duration::from_secs(120);

/// The times at which an expression is evaluated.
#[derive(Clone, Copy)]
enum Times {
    Instant(i64),
    Range(i64, i64, i64),
}

pub(crate) async fn instant(prom: Prom, params: Params) -> Result<Response, ApiError> {
    let time = params.time("time")?.unwrap_or_else(|| prom.now_ms());
    evaluate(prom, &params, Times::Instant(time)).await
}

pub(crate) async fn range(prom: Prom, params: Params) -> Result<Response, ApiError> {
    let start = params.required("start", params.time("start")?)?;
    let end = params.required("end", params.time("end")?)?;
    if end < start {
        return Err(ApiError::bad_data("invalid parameter \"end\": end timestamp must not be before start time"));
    }
    let step = params.required("step", params.duration("step")?)?;
    if step <= 0 {
        return Err(ApiError::bad_data(
            "invalid parameter \"step\": zero or negative query resolution step widths are not accepted. Try a \
             positive integer",
        ));
    }
    if (end - start) / step > STEPS_MAX {
        return Err(ApiError::bad_data(
            "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution \
             (?step=XX)",
        ));
    }
    evaluate(prom, &params, Times::Range(start, end, step)).await
}

async fn evaluate(prom: Prom, params: &Params, times: Times) -> Result<Response, ApiError> {
    let text = params.get("query").unwrap_or_default().to_owned();
    let expr = parse(&text).map_err(|error| ApiError::bad_data(format!("invalid parameter \"query\": {error}")))?;
    let lookback_ms = params.duration("lookback_delta")?.filter(|lookback| *lookback > 0).unwrap_or(LOOKBACK_MS);
    let timeout = params.duration("timeout")?.and_then(|timeout| u64::try_from(timeout).ok());
    let time_max = timeout.map_or(TIME_MAX, |timeout| TIME_MAX.min(Duration::from_millis(timeout)));
    let limit = params.limit()?;
    let (this, samples_max) = (prom.clone(), prom.memory_bytes() / SAMPLE_BYTES);
    let outcome = blocking_for(&this, time_max, move |stop| {
        run(&prom, &text, &expr, times, &Limits { lookback_ms, samples_max, stop: &|| stop() }, stop)
    });
    let mut outcome = outcome.await.map_err(|error| match error.kind {
        ApiErrorKind::Timeout => ApiError::new(ApiErrorKind::Timeout, "query timed out in expression evaluation"),
        _ => error,
    })?;
    let count = match &outcome.value {
        ResultValue::Vector(series) => series.len(),
        ResultValue::Matrix(series) => series.len(),
        _ => 0,
    };
    if limit > 0 && count > limit {
        outcome.warnings.push("results truncated due to limit".to_owned());
    }
    Ok(success(&json::result(&outcome, limit), &outcome.warnings, &outcome.infos))
}

fn run(
    prom: &Prom,
    text: &str,
    expr: &Expr,
    times: Times,
    limits: &Limits<'_>,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Outcome, ApiError> {
    let source = StoreSource::new(&prom.database, prom.labels.clone(), stop)?;
    let outcome = match times {
        Times::Instant(time) => evaluate_instant(&source, text, expr, time, limits),
        Times::Range(start, end, step) => evaluate_range(&source, text, expr, (start, end, step), limits),
    };
    Ok(outcome?)
}
