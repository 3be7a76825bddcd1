//! The paths.

use super::answer::{ApiError, success};
use super::context::Prom;
use super::json::quoted;
use super::params::Params;
use super::{lookup, otlp, query, read, write};
use crate::access::caller::Caller;
use crate::access::role::Role;
use crate::http::required_role::{RequiredRole, RouteRoles};
use axum::body::Body;
use axum::extract::rejection::ExtensionRejection;
use axum::extract::{FromRequestParts, Path, State as Extract};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use std::future::Future;

/// Writing samples creates their tables.
pub(crate) const ROUTE_ROLES: RouteRoles = &[
    ("/api/v1/write", RequiredRole::AtLeast(Role::Write)),
    ("/v1/metrics", RequiredRole::AtLeast(Role::Write)),
    ("/api/v1/otlp/v1/metrics", RequiredRole::AtLeast(Role::Write)),
    ("/api/v1/read", RequiredRole::AtLeast(Role::Read)),
    ("/api/v1/query", RequiredRole::AtLeast(Role::Read)),
    ("/api/v1/query_range", RequiredRole::AtLeast(Role::Read)),
    ("/api/v1/series", RequiredRole::AtLeast(Role::Read)),
    ("/api/v1/labels", RequiredRole::AtLeast(Role::Read)),
    ("/api/v1/label/{name}/values", RequiredRole::AtLeast(Role::Read)),
    ("/api/v1/metadata", RequiredRole::AtLeast(Role::Read)),
    ("/api/v1/query_exemplars", RequiredRole::AtLeast(Role::Read)),
    ("/api/v1/rules", RequiredRole::AtLeast(Role::Read)),
    ("/api/v1/alerts", RequiredRole::AtLeast(Role::Read)),
    ("/api/v1/status/buildinfo", RequiredRole::AtLeast(Role::Read)),
];

/// The paths of Prometheus and OpenTelemetry.
pub(crate) fn router(prom: Prom) -> Router {
    Router::new()
        .route("/api/v1/write", post(remote_write))
        .route("/v1/metrics", post(otlp_metrics))
        .route("/api/v1/otlp/v1/metrics", post(otlp_metrics))
        .route("/api/v1/read", post(remote_read))
        .route("/api/v1/query", get(instant).post(instant))
        .route("/api/v1/query_range", get(range).post(range))
        .route("/api/v1/series", get(series).post(series))
        .route("/api/v1/labels", get(label_names).post(label_names))
        .route("/api/v1/label/{name}/values", get(label_values))
        .route("/api/v1/metadata", get(metadata))
        .route("/api/v1/query_exemplars", get(exemplars).post(exemplars))
        .route("/api/v1/rules", get(no_rules))
        .route("/api/v1/alerts", get(no_alerts))
        .route("/api/v1/status/buildinfo", get(build_info))
        .with_state(prom)
}

/// The context for a request that reads, with the limits of its caller's role.
struct OfCaller(Prom);

impl FromRequestParts<Prom> for OfCaller {
    type Rejection = ExtensionRejection;

    async fn from_request_parts(parts: &mut Parts, prom: &Prom) -> Result<Self, ExtensionRejection> {
        let Extension(caller) = Extension::<Caller>::from_request_parts(parts, prom).await?;
        Ok(Self(prom.clone().of_role(caller.role)))
    }
}

async fn remote_write(Extract(prom): Extract<Prom>, headers: HeaderMap, body: Body) -> Response {
    write::write(prom, headers, body).await
}

async fn otlp_metrics(Extract(prom): Extract<Prom>, headers: HeaderMap, body: Body) -> Response {
    otlp::metrics(prom, headers, body).await
}

async fn remote_read(OfCaller(prom): OfCaller, headers: HeaderMap, body: Body) -> Response {
    read::read(prom, headers, body).await
}

/// Reads the parameters and answers the request.
async fn answered<F>(
    prom: Prom,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
    answer: impl FnOnce(Prom, Params) -> F,
) -> Response
where
    F: Future<Output = Result<Response, ApiError>>,
{
    match Params::read(&prom, &uri, &headers, body).await {
        Ok(params) => answer(prom, params).await.unwrap_or_else(IntoResponse::into_response),
        Err(response) => response,
    }
}

async fn instant(OfCaller(prom): OfCaller, uri: Uri, headers: HeaderMap, body: Body) -> Response {
    answered(prom, uri, headers, body, query::instant).await
}

async fn range(OfCaller(prom): OfCaller, uri: Uri, headers: HeaderMap, body: Body) -> Response {
    answered(prom, uri, headers, body, query::range).await
}

async fn series(OfCaller(prom): OfCaller, uri: Uri, headers: HeaderMap, body: Body) -> Response {
    answered(prom, uri, headers, body, lookup::series).await
}

async fn label_names(OfCaller(prom): OfCaller, uri: Uri, headers: HeaderMap, body: Body) -> Response {
    answered(prom, uri, headers, body, lookup::label_names).await
}

async fn label_values(
    OfCaller(prom): OfCaller,
    Path(name): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let values = |prom, params| async move { lookup::label_values(prom, &name, params).await };
    answered(prom, uri, headers, body, values).await
}

async fn metadata(OfCaller(prom): OfCaller, uri: Uri, headers: HeaderMap, body: Body) -> Response {
    answered(prom, uri, headers, body, lookup::metadata).await
}

async fn exemplars(OfCaller(prom): OfCaller, uri: Uri, headers: HeaderMap, body: Body) -> Response {
    answered(prom, uri, headers, body, lookup::exemplars).await
}

async fn no_rules() -> Response {
    success("{\"groups\":[]}", &[], &[])
}

async fn no_alerts() -> Response {
    success("{\"alerts\":[]}", &[], &[])
}

/// The version of Prometheus whose API is supported. Grafana uses it to decide which requests it can make.
async fn build_info() -> Response {
    let revision = quoted(concat!("atsdb ", env!("CARGO_PKG_VERSION")));
    let data = format!(
        "{{\"version\":\"3.0.0\",\"revision\":{revision},\"branch\":\"\",\"buildUser\":\"\",\"buildDate\":\"\",\
         \"goVersion\":\"\"}}"
    );
    success(&data, &[], &[])
}
