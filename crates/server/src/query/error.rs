//! Errors as JSON: `{"kind": "sql", "message": "...", "hint": "..."}`, with the status that fits.

use crate::ingest::body::BodyError;
use atsdb::{Error, ErrorKind};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// After how many seconds a client may retry.
const RETRY_SECONDS: u32 = 5;

/// The answer for an error.
pub(crate) fn answer(error: &Error) -> Response {
    with_json(of_kind(error.kind()).0, &described(error))
}

/// An error as JSON.
pub(super) fn described(error: &Error) -> serde_json::Value {
    let mut body = json!({ "kind": of_kind(error.kind()).1, "message": error.message() });
    if let Some(hint) = error.hint() {
        body["hint"] = hint.into();
    }
    body
}

/// The answer to a request that is wrong in itself.
pub(crate) fn refuse(status: StatusCode, message: &str) -> Response {
    with_json(status, &json!({ "kind": "request", "message": message }))
}

/// The answer to a body that was not taken.
pub(crate) fn refused_body(refused: &BodyError) -> Response {
    match refused {
        BodyError::TooLarge(bytes_max) => {
            refuse(StatusCode::PAYLOAD_TOO_LARGE, &format!("the body is larger than {bytes_max} bytes"))
        }
        BodyError::Encoding(encoding) => {
            refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, &format!("content encoding {encoding:?} is not supported"))
        }
        BodyError::Malformed(message) => refuse(StatusCode::BAD_REQUEST, message),
        BodyError::Slow => refuse(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time"),
        BodyError::Full => refuse(StatusCode::SERVICE_UNAVAILABLE, "too many bytes are being written: retry later"),
    }
}

fn with_json(status: StatusCode, body: &serde_json::Value) -> Response {
    let mut response = (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
    }
    response
}

fn of_kind(kind: ErrorKind) -> (StatusCode, &'static str) {
    match kind {
        ErrorKind::Usage => (StatusCode::BAD_REQUEST, "usage"),
        ErrorKind::Sql => (StatusCode::BAD_REQUEST, "sql"),
        ErrorKind::NotFound => (StatusCode::NOT_FOUND, "not_found"),
        ErrorKind::Exists => (StatusCode::CONFLICT, "exists"),
        ErrorKind::InvalidValue => (StatusCode::UNPROCESSABLE_ENTITY, "invalid_value"),
        ErrorKind::DuplicateKey => (StatusCode::CONFLICT, "duplicate_key"),
        ErrorKind::Limit => (StatusCode::UNPROCESSABLE_ENTITY, "limit"),
        ErrorKind::Resources => (StatusCode::INSUFFICIENT_STORAGE, "resources"),
        ErrorKind::Conflict => (StatusCode::CONFLICT, "conflict"),
        ErrorKind::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
        ErrorKind::Corrupt => (StatusCode::INTERNAL_SERVER_ERROR, "corrupt"),
        ErrorKind::NewerFormat => (StatusCode::INTERNAL_SERVER_ERROR, "newer_format"),
        ErrorKind::NotAStore => (StatusCode::INTERNAL_SERVER_ERROR, "not_a_store"),
        ErrorKind::ReadOnly => (StatusCode::FORBIDDEN, "read_only"),
        ErrorKind::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        ErrorKind::Interrupted => (StatusCode::SERVICE_UNAVAILABLE, "interrupted"),
        ErrorKind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    }
}
