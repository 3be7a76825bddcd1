//! Refuses requests while the server drains, except those that ask how it is.

use super::refusal;
use crate::shared::phase::{Phase, PhaseFollower};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// The paths that answer until the end.
const ALWAYS: [&str; 3] = ["/health", "/ready", "/metrics"];

/// Lets a request through, or refuses it because the server is ending.
pub(crate) async fn refuse_late(State(phase): State<PhaseFollower>, request: Request, next: Next) -> Response {
    if phase.now() < Phase::Draining || ALWAYS.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let message = "the server is shutting down";
    let body = json!({ "kind": "unavailable", "code": "unavailable", "message": message, "error": message });
    let answer = (StatusCode::SERVICE_UNAVAILABLE, [(CONTENT_TYPE, "application/json")], body.to_string());
    refusal::with_retry(answer.into_response())
}
