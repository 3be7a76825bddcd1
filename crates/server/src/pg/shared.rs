//! What the connections of PostgreSQL clients share.

use super::cancel::Cancellations;
use crate::shared::state::State;

/// What the connections share.
pub(in crate::pg) struct PgShared {
    pub(in crate::pg) state: State,
    pub(in crate::pg) cancellations: Cancellations,
    pub(in crate::pg) port: u16,
}
