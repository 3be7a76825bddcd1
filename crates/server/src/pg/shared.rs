//! The state that the connections of PostgreSQL clients share.

use super::cancel::Cancellations;
use crate::access::state::Access;
use crate::shared::state::State;
use crate::tls::identity::Tls;

/// The state that the connections share.
pub(in crate::pg) struct PgShared {
    pub(in crate::pg) state: State,
    pub(in crate::pg) access: Access,
    pub(in crate::pg) tls: Option<Tls>,
    pub(in crate::pg) cancellations: Cancellations,
    pub(in crate::pg) port: u16,
}
