//! Logs the errors that are sent to clients.

use crate::access::caller::Peer;
use crate::shared::log::{Log, LogLevel};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use serde_json::json;

/// Logs answers that are errors. The query string of an address is left out, because it may contain a secret.
pub(crate) async fn log_errors(State(log): State<Log>, request: Request, next: Next) -> Response {
    if !log.writes(LogLevel::Error) {
        return next.run(request).await;
    }
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let address = request.extensions().get::<Peer>().map(|peer| peer.address.to_string());
    let response = next.run(request).await;
    let level = match response.status() {
        // The client is asked to retry, or its statement has reached a limit.
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::INSUFFICIENT_STORAGE => LogLevel::Debug,
        status if status.is_server_error() => LogLevel::Error,
        status if status.is_client_error() => LogLevel::Debug,
        _ => return response,
    };
    let fields = [
        ("protocol", json!("http")),
        ("address", json!(address)),
        ("method", json!(method.as_str())),
        ("path", json!(path)),
        ("status", json!(response.status().as_u16())),
    ];
    log.write(level, "error", &fields);
    response
}
