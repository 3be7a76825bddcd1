//! The answers to requests that no path takes. The layer of [`guard`](super::guard::guard) has let them pass, so that
//! only users learn which paths there are.

use super::guard::refuse;
use axum::http::{Method, StatusCode, Uri};
use axum::response::Response;

/// 404, with a message that names the path and the paths that most clients want.
pub(crate) async fn unknown_path(uri: Uri) -> Response {
    let path = uri.path();
    let message = format!(
        "this server has no path {path:.100}: SQL is at /api/sql, InfluxDB's line protocol at /write and /api/v2/write, \
         Prometheus' API at /api/v1"
    );
    refuse(StatusCode::NOT_FOUND, "not_found", &message)
}

/// 405, with a message that names the method and the path. The router adds the header `Allow`.
pub(crate) async fn unknown_method(method: Method, uri: Uri) -> Response {
    let (method, path) = (method.as_str(), uri.path());
    let message =
        format!("the path {path:.100} does not take the method {method:.20}: the header Allow lists what it takes");
    refuse(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", &message)
}
