//! Remote read.

use super::answer::{ApiError, Refusal};
use super::context::Prom;
use super::source::StoreSource;
use super::work::blocking;
use crate::ingest::body::{Compression, read_compressed};
use atsdb_prom::SeriesSource;
use atsdb_prom::evaluate::EvaluateError;
use atsdb_prom::remote::{ReadResult, compress, decode_read, encode_read};
use axum::body::Body;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

/// The memory of a sample in bytes: as read, encoded, and compressed.
const SAMPLE_BYTES: usize = 48;

/// Answers with the samples of the requested series.
pub(crate) async fn read(prom: Prom, headers: HeaderMap, body: Body) -> Response {
    let body = match read_compressed(Compression::Snappy, &headers, body, &prom.memory, &prom.ingest).await {
        Ok(body) => body,
        Err(error) => return Refusal::from(&error).into_response(),
    };
    let queries = match decode_read(&body.bytes) {
        Ok(queries) => queries,
        Err(error) => return Refusal::from(&error).into_response(),
    };
    let this = prom.clone();
    let encoded = blocking(&this, move |stop| {
        let source = StoreSource::new(&prom.database, prom.labels.clone(), stop)?;
        let mut left = prom.memory_bytes() / SAMPLE_BYTES;
        let mut results = Vec::new();
        for query in &queries {
            let samples = source.select(&query.matchers, query.from, query.to, left)?;
            left = left.saturating_sub(samples.iter().map(|one| one.times.len()).sum());
            let histograms = source.select_histograms(&query.matchers, query.from, query.to, left)?;
            let all = histograms.iter().flat_map(|one| &one.histograms);
            left = left.saturating_sub(all.map(|histogram| histogram.sample_count()).sum());
            results.push(ReadResult { samples, histograms });
        }
        let plain = encode_read(&results);
        compress(&plain).map_err(|error| ApiError::from(EvaluateError::Execution(error.to_string())))
    });
    match encoded.await {
        Ok(bytes) => {
            let headers = [(CONTENT_TYPE, "application/x-protobuf"), (CONTENT_ENCODING, "snappy")];
            (headers, bytes).into_response()
        }
        Err(error) => {
            let status = error.clone().into_response().status();
            let status = if status == StatusCode::UNPROCESSABLE_ENTITY { StatusCode::BAD_REQUEST } else { status };
            Refusal::new(status, error.message).into_response()
        }
    }
}
