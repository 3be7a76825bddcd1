//! The paths about the server itself: /health, /ready, /metrics, and the databases.

use super::required_role::{RequiredRole, RouteRoles};
use crate::access::role::Role;
use crate::databases::known_caller::KnownCaller;
use crate::databases::list::{Databases, OpenDatabase};
use crate::shared::metrics::{escaped, exposition};
use crate::shared::phase::Phase;
use atsdb::TimeUnit;
use atsdb::time::format_time;
use axum::extract::State as Extract;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use serde_json::{Value, json};
use std::fmt::Write;

/// The roles for these paths. It is no secret that the server runs, but its activity is.
pub(crate) const ROUTE_ROLES: RouteRoles = &[
    ("/health", RequiredRole::Anybody),
    ("/ready", RequiredRole::Anybody),
    ("/metrics", RequiredRole::AtLeast(Role::Read)),
    ("/api/databases", RequiredRole::AtLeast(Role::Read)),
];

/// The paths about the server itself.
pub(crate) fn router(databases: Databases) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .route("/api/databases", get(list))
        .with_state(databases)
}

/// 200 as long as the process answers, in the form that clients of InfluxDB read.
async fn health() -> Response {
    let body = json!({
        "name": "atsdb", "status": "pass", "message": "ready for queries and writes", "checks": [],
        "version": env!("CARGO_PKG_VERSION"),
    });
    answer(StatusCode::OK, &body)
}

/// 200 when every address is open and requests are accepted; 503 before that, while the server drains, and if the files
/// of the stores were deleted. Both in the form that clients of InfluxDB read.
async fn ready(Extract(databases): Extract<Databases>) -> Response {
    let server = databases.server();
    let unavailable =
        |message: &str| answer(StatusCode::SERVICE_UNAVAILABLE, &json!({ "code": "unavailable", "message": message }));
    match server.phase().now() {
        Phase::Ready if !databases.has_a_store() => unavailable("the store was deleted, moved or replaced"),
        Phase::Ready => {
            let started = format_time(server.started_ns(), TimeUnit::Nanosecond);
            let up = format!("{}s", server.uptime().as_secs());
            answer(StatusCode::OK, &json!({ "status": "ready", "started": started, "up": up }))
        }
        Phase::Starting => unavailable("the server is starting"),
        Phase::Draining | Phase::Stopping => unavailable("the server is shutting down"),
    }
}

/// The counters and gauges of the server, and of the databases that the caller may know of.
async fn metrics(Extract(databases): Extract<Databases>, Extension(known): Extension<KnownCaller>) -> Response {
    let server = databases.server();
    let mut registries = vec![(None, server.metrics())];
    registries.extend(known.databases.iter().map(|database| (database.label(), database.state.metrics())));
    let mut text = exposition(&registries);
    let (version, uptime) = (env!("CARGO_PKG_VERSION"), server.uptime().as_secs_f64());
    let _ = write!(
        text,
        "# HELP atsdb_build_info The version of the program.\n# TYPE atsdb_build_info gauge\n\
         atsdb_build_info{{version=\"{version}\"}} 1\n\
         # HELP atsdb_uptime_seconds How long the server has run.\n# TYPE atsdb_uptime_seconds gauge\n\
         atsdb_uptime_seconds {uptime:.3}\n"
    );
    if databases.have_names() {
        text.push_str(
            "# HELP atsdb_database_up Whether the store of a database is open.\n# TYPE atsdb_database_up gauge\n",
        );
        for (name, is_open) in databases.availability() {
            let _ = writeln!(text, "atsdb_database_up{{database=\"{}\"}} {}", escaped(name), u8::from(is_open));
        }
    }
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

/// The databases that the caller may know of.
async fn list(Extension(known): Extension<KnownCaller>) -> Response {
    let names: Vec<&str> = known.databases.iter().map(OpenDatabase::name).collect();
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    (headers, json!({ "databases": names }).to_string()).into_response()
}

fn answer(status: StatusCode, body: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")], body.to_string()).into_response()
}
