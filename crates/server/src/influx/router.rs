//! The paths.

use super::answer::error;
use super::context::{Influx, InfluxMetrics};
use super::dialect::Dialect;
use super::query::query;
use super::write::write;
use crate::access::role::Role;
use crate::databases::known_caller::KnownCaller;
use crate::databases::list::Databases;
use crate::http::required_role::{RequiredRole, RouteRoles};
use crate::ingest::group::{LineQueue, LineWriter};
use crate::ingest::options::IngestOptions;
use crate::ingest::request_memory::RequestMemory;
use crate::shared::form;
use crate::shared::state::DatabaseState;
use axum::body::{Body, to_bytes};
use axum::extract::State as Extract;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum length of an InfluxQL statement in bytes.
const STATEMENT_BYTES_MAX: usize = 64 << 10;

/// Writing creates tables and columns.
pub(crate) const ROUTE_ROLES: RouteRoles = &[
    ("/write", RequiredRole::AtLeast(Role::Write)),
    ("/api/v2/write", RequiredRole::AtLeast(Role::Write)),
    ("/api/v3/write_lp", RequiredRole::AtLeast(Role::Write)),
];

/// The statements of InfluxQL that are answered do nothing.
pub(crate) const SERVER_ROUTE_ROLES: RouteRoles =
    &[("/ping", RequiredRole::AtLeast(Role::Read)), ("/query", RequiredRole::AtLeast(Role::Read))];

/// The paths that are not about one database.
pub(crate) fn server_router(databases: Databases) -> Router {
    Router::new().route("/ping", get(ping)).route("/query", get(query_get).post(query_post)).with_state(databases)
}

/// The paths for writing lines.
pub(crate) fn router(state: &DatabaseState, memory: RequestMemory, options: Arc<IngestOptions>) -> Router {
    let counter = |name, help| state.metrics().counter(name, help);
    let metrics = InfluxMetrics {
        stored_lines: counter("atsdb_lines_stored_total", "Lines of line protocol that were stored."),
        refused_lines: counter("atsdb_lines_refused_total", "Lines of line protocol that were refused."),
        refused_requests: counter("atsdb_line_requests_failed_total", "Requests with lines that failed as a whole."),
        bytes: counter("atsdb_line_bytes_total", "Bytes of line protocol, after decompression."),
    };
    let queue = LineQueue::new(LineWriter::new(state.database().clone()));
    Router::new()
        .route("/write", post(write_v1))
        .route("/api/v2/write", post(write_v2))
        .route("/api/v3/write_lp", post(write_v3))
        .with_state(Influx { queue, memory, options, metrics })
}

async fn write_v1(influx: Extract<Influx>, uri: Uri, headers: HeaderMap, body: Body) -> Response {
    write(influx.0, Dialect::V1, parameters(&uri), headers, body).await
}

async fn write_v2(influx: Extract<Influx>, uri: Uri, headers: HeaderMap, body: Body) -> Response {
    write(influx.0, Dialect::V2, parameters(&uri), headers, body).await
}

async fn write_v3(influx: Extract<Influx>, uri: Uri, headers: HeaderMap, body: Body) -> Response {
    write(influx.0, Dialect::V3, parameters(&uri), headers, body).await
}

/// Answers 204, as clients of InfluxDB 1 expect.
async fn ping() -> Response {
    let version = concat!("atsdb-", env!("CARGO_PKG_VERSION"));
    (StatusCode::NO_CONTENT, [("x-influxdb-version", version), ("x-influxdb-build", "atsdb")]).into_response()
}

async fn query_get(databases: Extract<Databases>, known: Extension<KnownCaller>, uri: Uri) -> Response {
    query(&databases, &known, &parameters(&uri), &HashMap::new())
}

async fn query_post(databases: Extract<Databases>, known: Extension<KnownCaller>, uri: Uri, body: Body) -> Response {
    match to_bytes(body, STATEMENT_BYTES_MAX).await {
        Ok(body) => query(&databases, &known, &parameters(&uri), &form::pairs(&body)),
        Err(_) => {
            let message = format!("the statement is larger than {STATEMENT_BYTES_MAX} bytes");
            error(Dialect::V1, StatusCode::PAYLOAD_TOO_LARGE, &message)
        }
    }
}

fn parameters(uri: &Uri) -> HashMap<String, String> {
    form::pairs(uri.query().unwrap_or_default().as_bytes())
}
