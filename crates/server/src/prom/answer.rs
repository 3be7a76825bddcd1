//! Answers: JSON as Prometheus' API wraps it, and plain text of the remote protocols.

use super::json::quoted;
use crate::http::refusal;
use crate::ingest::body::BodyError;
use crate::ingest::queue::SharedError;
use atsdb::ErrorKind;
use atsdb_prom::evaluate::EvaluateError;
use atsdb_prom::remote::RemoteError;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

/// The kinds of errors of Prometheus' API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApiErrorKind {
    BadData,
    Execution,
    Canceled,
    Timeout,
    Unavailable,
    Internal,
}

/// An error of the API.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    pub(crate) kind: ApiErrorKind,
    pub(crate) message: String,
}

impl ApiError {
    pub(crate) fn new(kind: ApiErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(crate) fn bad_data(message: impl Into<String>) -> Self {
        Self::new(ApiErrorKind::BadData, message)
    }
}

impl From<EvaluateError> for ApiError {
    fn from(error: EvaluateError) -> Self {
        let kind = match &error {
            EvaluateError::Execution(_) | EvaluateError::TooManySamples => ApiErrorKind::Execution,
            EvaluateError::Stopped => ApiErrorKind::Canceled,
            EvaluateError::Source(error) if error.kind().is_shortage() => ApiErrorKind::Unavailable,
            EvaluateError::Source(_) => ApiErrorKind::Internal,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<atsdb::Error> for ApiError {
    fn from(error: atsdb::Error) -> Self {
        EvaluateError::Source(error).into()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, kind) = match self.kind {
            ApiErrorKind::BadData => (StatusCode::BAD_REQUEST, "bad_data"),
            ApiErrorKind::Execution => (StatusCode::UNPROCESSABLE_ENTITY, "execution"),
            ApiErrorKind::Canceled => (StatusCode::SERVICE_UNAVAILABLE, "canceled"),
            ApiErrorKind::Timeout => (StatusCode::SERVICE_UNAVAILABLE, "timeout"),
            ApiErrorKind::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            ApiErrorKind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        };
        let text = format!("{{\"status\":\"error\",\"errorType\":\"{kind}\",\"error\":{}}}", quoted(&self.message));
        refusal::with_retry((status, [(CONTENT_TYPE, "application/json")], text).into_response())
    }
}

/// A success. `data` is JSON; remarks are left out where there are none.
pub(crate) fn success(data: &str, warnings: &[String], infos: &[String]) -> Response {
    let mut text = format!("{{\"status\":\"success\",\"data\":{data}");
    for (name, remarks) in [("warnings", warnings), ("infos", infos)] {
        if !remarks.is_empty() {
            let remarks: Vec<String> = remarks.iter().map(|remark| quoted(remark)).collect();
            text.push_str(&format!(",\"{name}\":[{}]", remarks.join(",")));
        }
    }
    text.push('}');
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}

/// An error in plain text.
pub(crate) fn plain_error(status: StatusCode, message: &str) -> Response {
    let response = (status, [(CONTENT_TYPE, "text/plain; charset=utf-8")], format!("{message}\n"));
    refusal::with_retry(response.into_response())
}

/// The answer to a body that was not taken. One that did not arrive in time is welcome later.
pub(crate) fn refused_body(refused: &BodyError) -> Response {
    let (status, message) = refusal::of_body(refused);
    match refused {
        BodyError::Slow => plain_error(StatusCode::SERVICE_UNAVAILABLE, &message),
        _ => plain_error(status, &message),
    }
}

/// The answer to a request that can never be accepted.
pub(crate) fn refused(error: &RemoteError) -> Response {
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::BAD_REQUEST);
    plain_error(status, &error.to_string())
}

/// The answer to samples that could not be stored. Trouble that may pass is never a 4xx: Prometheus would drop them.
pub(crate) fn not_stored(error: &SharedError) -> Response {
    let status = match error.kind {
        ErrorKind::InvalidValue => StatusCode::BAD_REQUEST,
        ErrorKind::Conflict => StatusCode::SERVICE_UNAVAILABLE,
        kind if kind.is_shortage() => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    plain_error(status, &error.message)
}
