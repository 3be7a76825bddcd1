//! The state that the connections of PostgreSQL clients share.

use super::sessions::Sessions;
use super::shared_snapshots::SharedSnapshots;
use crate::databases::list::Databases;
use crate::ingest::options::IngestOptions;
use crate::ingest::request_memory::RequestMemory;
use crate::shared::state::ServerState;
use crate::tls::identity::Tls;
use std::sync::Arc;

/// The state that the connections share.
pub(in crate::pg) struct PgShared {
    pub(in crate::pg) server: ServerState,
    pub(in crate::pg) databases: Databases,
    pub(in crate::pg) tls: Option<Tls>,
    pub(in crate::pg) sessions: Sessions,
    pub(in crate::pg) snapshots: SharedSnapshots,
    /// The memory for what clients send, which HTTP uses too.
    pub(in crate::pg) memory: RequestMemory,
    pub(in crate::pg) ingest: Arc<IngestOptions>,
    pub(in crate::pg) port: u16,
    /// The maximum number of connections.
    pub(in crate::pg) connections_max: usize,
}
