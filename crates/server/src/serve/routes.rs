//! Which rooms answer HTTP.

use crate::http::operation;
use crate::shared::state::State;
use axum::Router;

/// The addresses of all rooms, each by its own router.
pub(super) fn router(state: &State) -> Router {
    Router::new().merge(operation::router(state.clone()))
}
