//! The answer to paths that do not exist.

use super::guard::refuse;
use axum::http::{StatusCode, Uri};
use axum::response::Response;

/// 404, with a message that names the path and the paths that most clients want. The layer of
/// [`guard`](super::guard::guard) has let the request pass, so that only users learn it.
pub(crate) async fn unknown_path(uri: Uri) -> Response {
    let path = uri.path();
    let message = format!(
        "this server has no path {path:.100}: SQL is at /api/sql, InfluxDB's line protocol at /write and /api/v2/write, \
         Prometheus' API at /api/v1"
    );
    refuse(StatusCode::NOT_FOUND, "not_found", &message)
}
