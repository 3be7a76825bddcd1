//! The running statements: GET /api/statements lists them, DELETE /api/statements/ID cancels one.

use crate::shared::running::Running;
use axum::Router;
use axum::extract::{Path, State as Extract};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get};
use serde_json::{Value, json};

/// The addresses of running statements.
pub(crate) fn router(running: Running) -> Router {
    Router::new().route("/api/statements", get(list)).route("/api/statements/{id}", delete(cancel)).with_state(running)
}

/// The statements that run at present, the oldest first.
async fn list(Extract(running): Extract<Running>) -> Response {
    let statements = running.list().into_iter().map(|statement| {
        json!({
            "id": statement.id,
            "protocol": statement.protocol,
            "user": statement.user,
            "sql": statement.text,
            "seconds": statement.elapsed.as_secs_f64(),
        })
    });
    answer(StatusCode::OK, &statements.collect::<Value>())
}

/// 204 when the statement was told to end, 404 when it does not run.
async fn cancel(Extract(running): Extract<Running>, Path(id): Path<String>) -> Response {
    if id.parse().is_ok_and(|id| running.cancel(id)) {
        return StatusCode::NO_CONTENT.into_response();
    }
    let message = format!("no statement {id} is running");
    answer(StatusCode::NOT_FOUND, &json!({ "kind": "not_found", "message": message }))
}

fn answer(status: StatusCode, body: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")], body.to_string()).into_response()
}
