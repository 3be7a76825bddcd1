//! Answers to writes, in the form of each version of InfluxDB.

use super::dialect::Dialect;
use crate::http::refusal;
use crate::ingest::body::BodyError;
use crate::ingest::queue::SharedError;
use crate::ingest::request::LineReport;
use atsdb::ErrorKind;
use atsdb_lineproto::LineError;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// The header in which InfluxDB 1 repeats an error.
const ERROR_HEADER: HeaderName = HeaderName::from_static("x-influxdb-error");

/// The answer to lines that were parsed.
pub(crate) fn report(dialect: Dialect, report: &LineReport) -> Response {
    let Some(first) = report.errors.first() else {
        return StatusCode::NO_CONTENT.into_response();
    };
    if dialect == Dialect::V3 {
        let (message, data) = match report.is_stored {
            true => ("partial write of line protocol occurred", report.errors.iter().map(v3_line).collect()),
            false => ("parsing failed for write_lp endpoint", v3_line(first)),
        };
        return with_json(StatusCode::BAD_REQUEST, message, &json!({ "error": message, "data": data }));
    }
    let reason = format!("unable to parse line {} '{}': {}", first.line, first.text, first.message);
    match report.accepted {
        0 => error(dialect, StatusCode::BAD_REQUEST, &reason),
        _ => {
            let message = format!("partial write: {reason} dropped={}", report.refused);
            error(dialect, StatusCode::BAD_REQUEST, &message)
        }
    }
}

fn v3_line(error: &LineError) -> Value {
    json!({ "original_line": error.text, "line_number": error.line, "error_message": error.message })
}

/// The answer to a refused body.
pub(crate) fn refused_body(dialect: Dialect, refused: &BodyError) -> Response {
    let (status, message) = refusal::of_body(refused);
    error(dialect, status, &message)
}

/// The answer to lines that could not be stored.
pub(crate) fn failed(dialect: Dialect, failed: &SharedError) -> Response {
    match failed.kind {
        ErrorKind::Conflict | ErrorKind::Busy | ErrorKind::Unavailable | ErrorKind::Resources => {
            error(dialect, StatusCode::SERVICE_UNAVAILABLE, &failed.message)
        }
        ErrorKind::Limit
        | ErrorKind::InvalidValue
        | ErrorKind::DuplicateKey
        | ErrorKind::CheckViolation
        | ErrorKind::ForeignKeyViolation
        | ErrorKind::Usage => error(dialect, StatusCode::UNPROCESSABLE_ENTITY, &failed.message),
        ErrorKind::ReadOnly => error(dialect, StatusCode::FORBIDDEN, &failed.message),
        _ => error(dialect, StatusCode::INTERNAL_SERVER_ERROR, &failed.message),
    }
}

/// An error in the form of this version.
pub(crate) fn error(dialect: Dialect, status: StatusCode, message: &str) -> Response {
    let body = match dialect {
        Dialect::V1 | Dialect::V3 => json!({ "error": message }),
        Dialect::V2 => json!({ "code": v2_code(status), "message": message }),
    };
    with_json(status, message, &body)
}

/// The codes of InfluxDB 2.
fn v2_code(status: StatusCode) -> &'static str {
    match status {
        StatusCode::BAD_REQUEST | StatusCode::UNSUPPORTED_MEDIA_TYPE => "invalid",
        StatusCode::FORBIDDEN => "forbidden",
        StatusCode::REQUEST_TIMEOUT | StatusCode::SERVICE_UNAVAILABLE => "unavailable",
        StatusCode::PAYLOAD_TOO_LARGE => "request too large",
        StatusCode::UNPROCESSABLE_ENTITY => "unprocessable entity",
        _ => "internal error",
    }
}

fn with_json(status: StatusCode, message: &str, body: &Value) -> Response {
    let mut response = (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response();
    // Only characters that are allowed in a header.
    let shown: String =
        message.chars().map(|character| if (' '..='~').contains(&character) { character } else { '?' }).collect();
    if let Ok(value) = HeaderValue::from_str(&shown) {
        response.headers_mut().insert(ERROR_HEADER, value);
    }
    refusal::with_retry(response)
}
