//! Answers: JSON in the form of Prometheus' API, and plain text for the remote protocols.

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

/// A successful answer. `data` is JSON; empty lists of warnings and infos are left out.
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

/// The refusal of a request with samples.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }
}

impl From<&BodyError> for Refusal {
    /// A body that did not arrive in time can be sent again later.
    fn from(refused: &BodyError) -> Self {
        let (status, message) = refusal::of_body(refused);
        match refused {
            BodyError::Slow => Self::new(StatusCode::SERVICE_UNAVAILABLE, message),
            _ => Self::new(status, message),
        }
    }
}

impl From<&RemoteError> for Refusal {
    /// Such a request can never be accepted.
    fn from(error: &RemoteError) -> Self {
        Self::new(StatusCode::from_u16(error.status()).unwrap_or(StatusCode::BAD_REQUEST), error.to_string())
    }
}

impl From<&SharedError> for Refusal {
    /// A temporary problem is never a 4xx, because Prometheus would drop the samples.
    fn from(error: &SharedError) -> Self {
        let status = match error.kind {
            ErrorKind::InvalidValue | ErrorKind::CheckViolation | ErrorKind::ForeignKeyViolation => {
                StatusCode::BAD_REQUEST
            }
            ErrorKind::Conflict => StatusCode::SERVICE_UNAVAILABLE,
            kind if kind.is_shortage() => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.message.clone())
    }
}

impl IntoResponse for Refusal {
    /// The refusal as plain text.
    fn into_response(self) -> Response {
        let text = format!("{}\n", self.message);
        let response = (self.status, [(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response();
        refusal::with_retry(response)
    }
}
