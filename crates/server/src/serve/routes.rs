//! The rooms that answer HTTP.

use super::options::ServerOptions;
use crate::databases::list::{Databases, OpenDatabase};
use crate::databases::per_database::PerDatabase;
use crate::http::dispatch::{Dispatch, dispatch};
use crate::http::guard::{Guard, guard, guard_server};
use crate::http::unrouted::{unknown_method, unknown_path};
use crate::http::{draining, errors, operation, origin, statements};
use crate::influx;
use crate::ingest::request_memory::RequestMemory;
use crate::page;
use crate::prom::{self, Prom};
use crate::query;
use axum::{Router, middleware};
use std::sync::Arc;

/// The paths of all rooms, each with its own router. A room states the roles that its paths require in `ROUTE_ROLES`.
/// Paths that are not about the server belong to each database.
pub(super) fn router(databases: &Databases, routers: Arc<PerDatabase<Router>>) -> Router {
    let server_guard =
        Guard::new(databases.clone(), &[page::ROUTE_ROLES, operation::ROUTE_ROLES, influx::SERVER_ROUTE_ROLES]);
    let dispatching = Dispatch { databases: databases.clone(), routers };
    let server = databases.server();
    Router::new()
        .merge(page::router())
        .merge(operation::router(databases.clone()))
        .merge(influx::server_router(databases.clone()))
        .method_not_allowed_fallback(unknown_method)
        .layer(middleware::from_fn_with_state(server_guard, guard_server))
        .fallback_service(axum::handler::Handler::with_state(dispatch, dispatching))
        .layer(middleware::from_fn_with_state(databases.clone(), origin::refuse_foreign))
        .layer(middleware::from_fn_with_state(server.phase(), draining::refuse_late))
        .layer(middleware::from_fn_with_state(server.log().clone(), errors::log_errors))
}

/// The paths of one database.
pub(super) fn of_database(
    database: &OpenDatabase,
    memory: &RequestMemory,
    prom: &Prom,
    options: &ServerOptions,
) -> Router {
    let database_guard = Guard::new(
        database.access.clone(),
        &[statements::ROUTE_ROLES, influx::ROUTE_ROLES, prom::ROUTE_ROLES, query::ROUTE_ROLES],
    );
    let (state, ingest) = (&database.state, Arc::new(options.ingest.clone()));
    Router::new()
        .merge(statements::router(state.running().clone()))
        .merge(influx::router(state, memory.clone(), Arc::clone(&ingest)))
        .merge(prom::router(prom.clone()))
        .merge(query::router(state, options.query.clone(), memory.clone(), ingest))
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_method)
        .layer(middleware::from_fn_with_state(database_guard, guard))
}
