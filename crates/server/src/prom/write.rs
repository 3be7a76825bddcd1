//! Remote write.

use super::answer::Refusal;
use super::context::Prom;
use super::writer::SampleRequest;
use crate::ingest::body::{BodyError, Compression, HeldBody, read_compressed};
use atsdb_prom::remote::{RemoteError, WriteRequest, WriteVersion, decode_write, negotiate};
use axum::body::Body;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Stores the samples of a request. The answer is sent when they are durable.
pub(crate) async fn write(prom: Prom, headers: HeaderMap, body: Body) -> Response {
    let header = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let kind = match negotiate(header(CONTENT_TYPE), header(CONTENT_ENCODING)) {
        Ok(kind) => kind,
        Err(error) => return prom.metrics.refused(Refusal::from(&error).into_response()),
    };
    let compression = if kind.snappy { Compression::Snappy } else { Compression::None };
    let body = match read_compressed(compression, &headers, body, &prom.memory, &prom.ingest).await {
        Ok(body) => body,
        Err(error) => return prom.metrics.refused(Refusal::from(&error).into_response()),
    };
    let series = Arc::clone(&prom.sent_series);
    let decode =
        move |bytes: &[u8], bytes_max| decode_write(bytes, kind.version, bytes_max, &series).map(|write| (write, ()));
    let report = match store(&prom, body, decode).await {
        Ok((report, ())) => report,
        Err(refusal) => return prom.metrics.refused(refusal.into_response()),
    };
    let mut response = match &report.reason {
        None => StatusCode::NO_CONTENT.into_response(),
        Some(reason) => Refusal::new(StatusCode::BAD_REQUEST, reason.clone()).into_response(),
    };
    if kind.version == WriteVersion::V2 {
        // The numbers of stored items.
        let headers = response.headers_mut();
        headers.insert("x-prometheus-remote-write-samples-written", HeaderValue::from(report.samples));
        headers.insert("x-prometheus-remote-write-histograms-written", HeaderValue::from(report.histograms));
        headers.insert("x-prometheus-remote-write-exemplars-written", HeaderValue::from(report.exemplars));
    }
    response
}

/// The result of a request.
pub(crate) struct Report {
    /// The number of samples that are stored.
    pub(crate) samples: usize,
    /// The number of native histograms that are stored.
    pub(crate) histograms: usize,
    /// The number of exemplars that are stored.
    pub(crate) exemplars: usize,
    /// The reason why series or histograms were skipped; `None` if none were.
    pub(crate) reason: Option<String>,
}

/// Decodes and stores a body. Other decoded data is returned.
pub(crate) async fn store<T: Send + 'static>(
    prom: &Prom,
    body: HeldBody,
    decode: impl FnOnce(&[u8], usize) -> Result<(WriteRequest, T), RemoteError> + Send + 'static,
) -> Result<(Report, T), Refusal> {
    let HeldBody { bytes, mut reservation } = body;
    let bytes_max = prom.ingest.plain_bytes_max;
    // The bytes are dropped as soon as they are decoded.
    let (write, other) = match tokio::task::spawn_blocking(move || decode(&bytes, bytes_max)).await {
        Ok(decoded) => decoded.map_err(|error| Refusal::from(&error))?,
        Err(error) => return Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
    };
    reservation.grow(write.byte_count()).await.map_err(|_| Refusal::from(&BodyError::Full))?;
    let (samples, histograms, exemplars) = (write.samples.len(), write.histograms.len(), write.exemplars.len());
    let left_out = write.refused.clone();
    if samples > 0 || histograms > 0 || exemplars > 0 || !write.metadata.is_empty() {
        let request = SampleRequest { write, _reservation: reservation };
        prom.queue.store(request).await.map_err(|error| Refusal::from(&error))?;
    }
    prom.metrics.samples.add(samples as u64);
    prom.metrics.histograms.add(histograms as u64);
    prom.metrics.refused_histograms.add(left_out.histograms as u64);
    prom.metrics.exemplars.add(exemplars as u64);
    prom.metrics.refused_exemplars.add(left_out.exemplars as u64);
    prom.metrics.refused_series.add(left_out.series as u64);
    let reason = (!left_out.is_empty()).then(|| {
        let counts = [(left_out.series, "series"), (left_out.histograms, "histograms")];
        let counts: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{what} that were not stored: {count}"))
            .collect();
        format!("{} ({})", left_out.reason, counts.join(", "))
    });
    Ok((Report { samples, histograms, exemplars, reason }, other))
}
