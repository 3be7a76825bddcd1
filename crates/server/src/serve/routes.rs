//! The rooms that answer HTTP.

use super::options::ServerOptions;
use crate::access::state::Access;
use crate::http::guard::{Guard, guard};
use crate::http::{draining, errors, operation, origin, statements};
use crate::influx;
use crate::ingest::gate::Gate;
use crate::page;
use crate::prom::{self, Prom};
use crate::query;
use crate::shared::state::State;
use axum::{Router, middleware};
use std::sync::Arc;

/// The paths of all rooms, each with its own router. A room states the rights that its paths require in `NEEDS`.
pub(super) fn router(state: &State, access: &Access, gate: Gate, prom: Prom, options: &ServerOptions) -> Router {
    let needs = Guard::new(
        access.clone(),
        &[page::NEEDS, operation::NEEDS, statements::NEEDS, influx::NEEDS, prom::NEEDS, query::NEEDS],
    );
    let ingest = Arc::new(options.ingest.clone());
    Router::new()
        .merge(page::router())
        .merge(operation::router(state.clone()))
        .merge(statements::router(state.running().clone()))
        .merge(influx::router(state, gate.clone(), Arc::clone(&ingest)))
        .merge(prom::router(prom))
        .merge(query::router(state, options.query.clone(), gate, ingest))
        .layer(middleware::from_fn_with_state(needs, guard))
        .layer(middleware::from_fn_with_state(access.clone(), origin::refuse_foreign))
        .layer(middleware::from_fn_with_state(state.phase(), draining::refuse_late))
        .layer(middleware::from_fn_with_state(state.log().clone(), errors::log_errors))
}
