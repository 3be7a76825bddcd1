//! The state that the connections of PostgreSQL clients share.

use super::sessions::Sessions;
use crate::access::state::Access;
use crate::ingest::gate::Gate;
use crate::ingest::options::IngestOptions;
use crate::shared::state::State;
use crate::tls::identity::Tls;
use std::sync::Arc;

/// The state that the connections share.
pub(in crate::pg) struct PgShared {
    pub(in crate::pg) state: State,
    pub(in crate::pg) access: Access,
    pub(in crate::pg) tls: Option<Tls>,
    pub(in crate::pg) sessions: Sessions,
    /// The memory for what clients send, which HTTP uses too.
    pub(in crate::pg) gate: Gate,
    pub(in crate::pg) ingest: Arc<IngestOptions>,
    pub(in crate::pg) port: u16,
}
