//! Errors as JSON: `{"kind": "sql", "message": "...", "hint": "..."}`, with the matching status.

use crate::http::refusal;
use crate::ingest::body::BodyError;
use atsdb::{Error, ErrorKind};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;

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

/// The answer to an invalid request.
pub(crate) fn refuse(status: StatusCode, message: &str) -> Response {
    with_json(status, &json!({ "kind": "request", "message": message }))
}

/// The answer to a refused body.
pub(crate) fn refused_body(refused: &BodyError) -> Response {
    let (status, message) = refusal::of_body(refused);
    refuse(status, &message)
}

fn with_json(status: StatusCode, body: &serde_json::Value) -> Response {
    refusal::with_retry((status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response())
}

fn of_kind(kind: ErrorKind) -> (StatusCode, &'static str) {
    match kind {
        ErrorKind::Usage => (StatusCode::BAD_REQUEST, "usage"),
        ErrorKind::Sql => (StatusCode::BAD_REQUEST, "sql"),
        ErrorKind::NotFound => (StatusCode::NOT_FOUND, "not_found"),
        ErrorKind::Exists => (StatusCode::CONFLICT, "exists"),
        ErrorKind::InvalidValue => (StatusCode::UNPROCESSABLE_ENTITY, "invalid_value"),
        ErrorKind::DuplicateKey => (StatusCode::CONFLICT, "duplicate_key"),
        ErrorKind::CheckViolation => (StatusCode::UNPROCESSABLE_ENTITY, "check_violation"),
        ErrorKind::ForeignKeyViolation => (StatusCode::UNPROCESSABLE_ENTITY, "foreign_key_violation"),
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
