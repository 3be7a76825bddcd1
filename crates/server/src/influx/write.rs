//! Writing lines.

use super::answer::{error, failed, refused_body, report};
use super::context::Influx;
use super::dialect::Dialect;
use crate::ingest::body::read_body;
use crate::ingest::request::LineRequest;
use atsdb::BatchId;
use atsdb_lineproto::LineOptions;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use std::collections::HashMap;

/// The header that names a batch: a request that is sent again with the same name is stored once.
const BATCH_HEADER: &str = "x-atsdb-batch";

/// Reads and stores the lines of a request. The answer is sent when they are durable.
pub(crate) async fn write(
    influx: Influx,
    dialect: Dialect,
    query: HashMap<String, String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let parameters = match dialect.parameters(&query) {
        Ok(parameters) => parameters,
        Err(message) => return error(dialect, StatusCode::BAD_REQUEST, &message),
    };
    let batch = match headers.get(BATCH_HEADER).map(|value| value.to_str().map(BatchId::new)) {
        None => None,
        Some(Ok(Ok(id))) => Some(id),
        Some(Ok(Err(wrong))) => return error(dialect, StatusCode::BAD_REQUEST, wrong.message()),
        Some(Err(_)) => return error(dialect, StatusCode::BAD_REQUEST, "the batch id is not ASCII"),
    };
    let body = match read_body(&headers, body, &influx.memory, &influx.options).await {
        Ok(body) => body,
        Err(refused) => {
            influx.metrics.refused_requests.increment();
            return refused_body(dialect, &refused);
        }
    };
    influx.metrics.bytes.add(body.bytes.len() as u64);
    let options = LineOptions { precision: parameters.precision, now_ns: influx.now_ns() };
    let request = LineRequest { body, options, accept_partial: parameters.accept_partial, batch };
    match influx.queue.store(request).await {
        Ok(lines) => {
            let stored = if lines.is_stored { lines.accepted } else { 0 };
            influx.metrics.stored_lines.add(stored);
            influx.metrics.refused_lines.add(lines.refused);
            report(dialect, &lines)
        }
        Err(error) => {
            influx.metrics.refused_requests.increment();
            failed(dialect, &error)
        }
    }
}
