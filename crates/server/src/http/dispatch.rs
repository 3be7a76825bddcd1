//! Passes each request on to the paths of the database that it names.

use super::credentials;
use super::guard::{refuse, refused, unknown_peer};
use super::refusal;
use super::selection::database_of;
use crate::access::caller::Peer;
use crate::databases::list::{Choice, Databases};
use crate::databases::per_database::PerDatabase;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;

/// The databases, and the paths of each of them.
#[derive(Debug, Clone)]
pub(crate) struct Dispatch {
    pub(crate) databases: Databases,
    pub(crate) routers: Arc<PerDatabase<Router>>,
}

/// Answers a request for one database. If that database is not open, the request is refused. For users only, the answer
/// gives the reason and lists the valid names.
pub(crate) async fn dispatch(State(dispatch): State<Dispatch>, request: Request) -> Response {
    let Dispatch { databases, routers } = &dispatch;
    let named = match database_of(request.headers(), request.uri()) {
        Err(message) if databases.have_names() => return refuse(StatusCode::BAD_REQUEST, "database", message),
        named => named.unwrap_or_default(),
    };
    let (status, code, message) = match databases.choose(named.as_deref()) {
        Choice::Open(database) => {
            let router = TowerToHyperService::new(routers.of(database).clone());
            return match router.call(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
        }
        Choice::Unavailable(name) => {
            let message = format!("database {name} is not available: its store cannot be opened");
            (StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
        }
        Choice::Unknown(name) => (StatusCode::NOT_FOUND, "database", format!("database not found: {name:?}")),
        Choice::NotNamed => {
            let message = "the request names no database: add ?db=NAME, or a header database".to_owned();
            (StatusCode::BAD_REQUEST, "database", message)
        }
    };
    let Some(peer) = request.extensions().get::<Peer>().copied() else { return unknown_peer() };
    let credentials = credentials::of_request(request.headers(), request.uri());
    match databases.authenticate(None, credentials, peer).await {
        Ok(known) => {
            let message = format!("{message} (available: {})", known.names());
            refusal::with_retry(refuse(status, code, &message))
        }
        Err(refusal) => refused(refusal),
    }
}
