//! Answers that all protocols share: to refused bodies, and to requests that should be retried later.

use crate::ingest::body::BodyError;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

/// The number of seconds after which a client may retry.
const RETRY_SECONDS: u32 = 5;

/// The status and the message for a refused body.
pub(crate) fn of_body(refused: &BodyError) -> (StatusCode, String) {
    match refused {
        BodyError::TooLarge(bytes_max) => {
            (StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {bytes_max} bytes"))
        }
        BodyError::Encoding(encoding) => {
            let message = format!("content encoding {encoding:?} is not supported (use gzip or identity)");
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
        }
        BodyError::Malformed(message) => (StatusCode::BAD_REQUEST, message.clone()),
        BodyError::Slow => (StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time".to_owned()),
        BodyError::Full => {
            (StatusCode::SERVICE_UNAVAILABLE, "too many bytes are being written: retry later".to_owned())
        }
    }
}

/// Adds the time to retry, if the answer is that the server has no room or is temporarily unable.
pub(crate) fn with_retry(mut response: Response) -> Response {
    if response.status() == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
    }
    response
}
