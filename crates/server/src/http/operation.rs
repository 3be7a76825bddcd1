//! The paths about the server itself: /health, /ready, /metrics.

use super::needs::{Needs, RouteNeeds};
use crate::access::role::Role;
use crate::shared::phase::Phase;
use crate::shared::state::State;
use axum::Router;
use axum::extract::State as Extract;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::fmt::Write;

/// It is no secret that the server runs, but its activity is.
pub(crate) const NEEDS: RouteNeeds =
    &[("/health", Needs::Nothing), ("/ready", Needs::Nothing), ("/metrics", Needs::Role(Role::Read))];

/// The paths about the server itself.
pub(crate) fn router(state: State) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .with_state(state)
}

/// 200 as long as the process answers.
async fn health() -> Response {
    answer(StatusCode::OK, "ok\n")
}

/// 200 when every address is open and requests are accepted; 503 before that, and while the server drains.
async fn ready(Extract(state): Extract<State>) -> Response {
    match state.phase().now() {
        Phase::Ready => answer(StatusCode::OK, "ready\n"),
        Phase::Starting => answer(StatusCode::SERVICE_UNAVAILABLE, "starting\n"),
        Phase::Draining | Phase::Stopping => answer(StatusCode::SERVICE_UNAVAILABLE, "shutting down\n"),
    }
}

async fn metrics(Extract(state): Extract<State>) -> Response {
    let mut text = state.metrics().text();
    let (version, uptime) = (env!("CARGO_PKG_VERSION"), state.uptime().as_secs_f64());
    let _ = write!(
        text,
        "# HELP atsdb_build_info The version of the program.\n# TYPE atsdb_build_info gauge\n\
         atsdb_build_info{{version=\"{version}\"}} 1\n\
         # HELP atsdb_uptime_seconds How long the server has run.\n# TYPE atsdb_uptime_seconds gauge\n\
         atsdb_uptime_seconds {uptime:.3}\n"
    );
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

fn answer(status: StatusCode, text: &'static str) -> Response {
    (status, [(CONTENT_TYPE, "text/plain; charset=utf-8"), (CACHE_CONTROL, "no-store")], text).into_response()
}
