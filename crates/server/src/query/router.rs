//! The paths.

use super::append::append;
use super::context::{Query, QueryMetrics};
use super::encoding::Encoding;
use super::error::{refuse, refused_body};
use super::options::QueryOptions;
use super::request::SqlRequest;
use super::sql::run;
use crate::access::caller::Caller;
use crate::access::role::Role;
use crate::http::required_role::{RequiredRole, RouteRoles};
use crate::ingest::body::read_body;
use crate::ingest::options::IngestOptions;
use crate::ingest::request_memory::RequestMemory;
use crate::shared::form;
use crate::shared::state::DatabaseState;
use atsdb::sql::Permission;
use axum::body::Body;
use axum::extract::State as Extract;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Router};
use std::collections::HashMap;
use std::sync::Arc;

/// The rights of a statement are checked by the user's role when it is executed.
pub(crate) const ROUTE_ROLES: RouteRoles =
    &[("/api/sql", RequiredRole::AtLeast(Role::Read)), ("/api/append", RequiredRole::AtLeast(Role::Write))];

/// The paths for statements and for Arrow batches.
pub(crate) fn router(
    state: &DatabaseState,
    options: QueryOptions,
    memory: RequestMemory,
    ingest: Arc<IngestOptions>,
) -> Router {
    let counter = |name, help| state.metrics().counter(name, help);
    let metrics = QueryMetrics {
        statements: counter("atsdb_http_statements_total", "Requests with SQL over HTTP."),
        appended_rows: counter("atsdb_appended_rows_total", "Rows of Arrow batches that were stored over HTTP."),
    };
    let query = Query { state: state.clone(), options: Arc::new(options), memory, ingest, metrics };
    Router::new()
        .route("/api/sql", get(sql_get).post(sql_post))
        .route("/api/append", post(append_post))
        .with_state(query)
}

/// A GET may only read.
async fn sql_get(
    query: Extract<Query>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    match SqlRequest::of_query(&parameters(&uri)) {
        Ok(request) => {
            let reason = "a GET may only read: use POST".to_owned();
            run(query.0, request, caller, (Permission::Read, reason), Encoding::accepted(&headers)).await
        }
        Err(message) => refuse(StatusCode::BAD_REQUEST, &message),
    }
}

async fn sql_post(
    query: Extract<Query>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let text_bytes_max = query.options.text_bytes_max;
    let limits =
        IngestOptions { body_bytes_max: text_bytes_max, plain_bytes_max: text_bytes_max, ..(*query.ingest).clone() };
    let request = match read_body(&headers, body, &query.memory, &limits).await {
        Ok(body) => SqlRequest::of_body(&parameters(&uri), &headers, &body.bytes),
        Err(refused) => return refused_body(&refused),
    };
    match request {
        Ok(request) => {
            let rights = (caller.role.permission(), caller.role.refusal());
            run(query.0, request, caller, rights, Encoding::accepted(&headers)).await
        }
        Err(message) => refuse(StatusCode::BAD_REQUEST, &message),
    }
}

async fn append_post(query: Extract<Query>, uri: Uri, headers: HeaderMap, body: Body) -> Response {
    append(query.0, parameters(&uri), headers, body).await
}

fn parameters(uri: &Uri) -> HashMap<String, String> {
    form::pairs(uri.query().unwrap_or_default().as_bytes())
}
