//! The running statements: GET /api/statements lists them, DELETE /api/statements/ID cancels one.

use super::required_role::{RequiredRole, RouteRoles};
use crate::access::caller::Caller;
use crate::access::role::Role;
use crate::shared::running::Running;
use axum::extract::{Path, State as Extract};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get};
use axum::{Extension, Router};
use serde_json::{Value, json};

/// Users without the role `admin` see and cancel only their own statements.
pub(crate) const ROUTE_ROLES: RouteRoles = &[
    ("/api/statements", RequiredRole::AtLeast(Role::Read)),
    ("/api/statements/{id}", RequiredRole::AtLeast(Role::Read)),
];

/// The paths for running statements.
pub(crate) fn router(running: Running) -> Router {
    Router::new().route("/api/statements", get(list)).route("/api/statements/{id}", delete(cancel)).with_state(running)
}

/// The running statements, the oldest first.
async fn list(Extract(running): Extract<Running>, Extension(caller): Extension<Caller>) -> Response {
    let statements = running.list().into_iter().filter(|statement| may_see(&caller, statement.user.as_deref()));
    let statements = statements.map(|statement| {
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

/// 204 if the statement was interrupted, 404 if it is not running.
async fn cancel(
    Extract(running): Extract<Running>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    if id.parse().is_ok_and(|id| running.cancel(id, |user| may_see(&caller, user))) {
        return StatusCode::NO_CONTENT.into_response();
    }
    let message = format!("no statement {id} is running");
    answer(StatusCode::NOT_FOUND, &json!({ "kind": "not_found", "message": message }))
}

fn may_see(caller: &Caller, user: Option<&str>) -> bool {
    caller.role == Role::Admin || caller.user.as_deref() == user
}

fn answer(status: StatusCode, body: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")], body.to_string()).into_response()
}
