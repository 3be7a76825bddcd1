//! OpenTelemetry's metrics: `/v1/metrics` over HTTP, and the request of gRPC, which the room `grpc` reads.

use super::answer::Refusal;
use super::context::Prom;
use super::write::store;
use crate::http::refusal;
use crate::ingest::body::{HeldBody, read_body};
use crate::ingest::options::IngestOptions;
use atsdb_prom::otlp::{
    OtlpRequest, answer_json, answer_protobuf, decode_json, decode_protobuf, error_json, error_protobuf,
};
use atsdb_prom::remote::RemoteError;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

/// The maximum size of a JSON body in bytes. Parsed JSON takes many times as much memory.
const JSON_BYTES_MAX: usize = 16 << 20;

/// The format of a request and of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Protobuf,
    Json,
}

impl Format {
    fn of(headers: &HeaderMap) -> Option<Self> {
        let named = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        match named.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "application/x-protobuf" => Some(Self::Protobuf),
            "application/json" => Some(Self::Json),
            _ => None,
        }
    }

    fn answer(self, status: StatusCode, protobuf: Vec<u8>, json: String) -> Response {
        match self {
            Self::Protobuf => (status, [(CONTENT_TYPE, "application/x-protobuf")], protobuf).into_response(),
            Self::Json => (status, [(CONTENT_TYPE, "application/json")], json).into_response(),
        }
    }

    fn refuse(self, refused: &Refusal) -> Response {
        let message = &refused.message;
        refusal::with_retry(self.answer(refused.status, error_protobuf(message), error_json(message)))
    }
}

/// Stores the points of a request. The answer is sent when they are durable, and has the number of points that were
/// left out.
pub(crate) async fn metrics(prom: Prom, headers: HeaderMap, body: Body) -> Response {
    let Some(format) = Format::of(&headers) else {
        let message = "the content type is neither application/x-protobuf nor application/json";
        let refused = Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
        return prom.metrics.refused(Format::Json.refuse(&refused));
    };
    match stored(&prom, format, headers, body).await {
        Ok((rejected_points, reason)) => format.answer(
            StatusCode::OK,
            answer_protobuf(rejected_points, &reason),
            answer_json(rejected_points, &reason),
        ),
        Err(refused) => prom.metrics.refused(format.refuse(&refused)),
    }
}

async fn stored(prom: &Prom, format: Format, headers: HeaderMap, body: Body) -> Result<(usize, String), Refusal> {
    let mut limits: IngestOptions = (*prom.ingest).clone();
    if format == Format::Json {
        limits.plain_bytes_max = limits.plain_bytes_max.min(JSON_BYTES_MAX);
    }
    let body = read_body(&headers, body, &prom.memory, &limits).await.map_err(|error| Refusal::from(&error))?;
    export(prom, format, body).await
}

/// Stores the points of a request that is a protocol buffer. Returns the answer when they are durable, also as a
/// protocol buffer.
pub(crate) async fn export_protobuf(prom: &Prom, body: HeldBody) -> Result<Vec<u8>, Refusal> {
    let (rejected_points, reason) = export(prom, Format::Protobuf, body).await?;
    Ok(answer_protobuf(rejected_points, &reason))
}

/// Returns how many points were left out, and the reason for the first.
async fn export(prom: &Prom, format: Format, body: HeldBody) -> Result<(usize, String), Refusal> {
    let decode = move |bytes: &[u8], bytes_max: usize| -> Result<_, RemoteError> {
        let OtlpRequest { write, rejected_points, reason } = match format {
            Format::Protobuf => decode_protobuf(bytes, bytes_max)?,
            Format::Json => decode_json(bytes, bytes_max)?,
        };
        Ok((write, (rejected_points, reason)))
    };
    let (report, (rejected_points, reason)) = store(prom, body, decode).await?;
    prom.metrics.rejected_points.add(rejected_points as u64);
    Ok((rejected_points, report.reason.unwrap_or(reason)))
}
