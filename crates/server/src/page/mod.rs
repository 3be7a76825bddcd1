//! The web page at `/`: an SQL editor, results as a table and as a chart, the tables, and the server's activity.
//!
//! Owned here: the page's files, which are part of the program, and how they are sent. They are plain HTML, CSS and
//! JavaScript modules below `web`, written by hand and sent as they are: nothing is built, and nothing is loaded from
//! elsewhere. Not owned: the paths that the page requests, which belong to other rooms (`/api/sql`, `/api/statements`,
//! `/metrics`).

mod files;

use crate::access::role::Role;
use crate::http::guard::refuse;
use crate::http::required_role::{RequiredRole, RouteRoles};
use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use files::{PageFile, file};

/// Allows only the page's own files and paths, and forbids framing by other pages.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A browser that opens the page asks its user for the password.
pub(crate) const ROUTE_ROLES: RouteRoles =
    &[("/", RequiredRole::AtLeast(Role::Read)), ("/page/{name}", RequiredRole::AtLeast(Role::Read))];

/// The paths of the page: `/`, and its files below `/page`.
pub(crate) fn router() -> Router {
    Router::new().route("/", get(index)).route("/page/{name}", get(named))
}

async fn index(headers: HeaderMap) -> Response {
    answer("index.html", &headers)
}

async fn named(Path(name): Path<String>, headers: HeaderMap) -> Response {
    answer(&name, &headers)
}

fn answer(name: &str, headers: &HeaderMap) -> Response {
    match file(name) {
        Some(file) => send(file, headers),
        None => refuse(StatusCode::NOT_FOUND, "not_found", &format!("the page has no file {name:.100}")),
    }
}

/// Sends a file. Browsers cache it, and ask each time whether it is still the same.
fn send(file: &'static PageFile, headers: &HeaderMap) -> Response {
    let common = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-cache"),
        (VARY, "accept-encoding"),
        (ETAG, file.tag.as_str()),
    ];
    if lists(headers, IF_NONE_MATCH, &file.tag) {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    let media_type = [(CONTENT_TYPE, file.media_type)];
    if lists(headers, ACCEPT_ENCODING, "gzip") {
        return (common, media_type, [(CONTENT_ENCODING, "gzip")], file.compressed.as_slice()).into_response();
    }
    (common, media_type, file.bytes).into_response()
}

/// Returns whether a header names a value among others.
fn lists(headers: &HeaderMap, name: HeaderName, value: &str) -> bool {
    let texts = headers.get_all(name).into_iter().filter_map(|text| text.to_str().ok());
    let mut parts = texts.flat_map(|text| text.split(','));
    parts.any(|part| {
        let (part, weight) = part.split_once(';').unwrap_or((part, ""));
        part.trim().trim_start_matches("W/") == value && !matches!(weight.trim(), "q=0" | "q=0.0")
    })
}
