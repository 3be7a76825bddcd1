//! The context in which requests are answered.

use super::options::QueryOptions;
use super::sessions::Sessions;
use crate::ingest::gate::Gate;
use crate::ingest::options::IngestOptions;
use crate::shared::metrics::Counter;
use crate::shared::running::Running;
use atsdb::Database;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The context in which requests are answered.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) database: Database,
    pub(crate) sessions: Sessions,
    pub(crate) places: Arc<Semaphore>,
    pub(crate) options: Arc<QueryOptions>,
    pub(crate) gate: Gate,
    pub(crate) ingest: Arc<IngestOptions>,
    pub(crate) metrics: QueryMetrics,
    pub(crate) running: Running,
}

#[derive(Debug, Clone)]
pub(crate) struct QueryMetrics {
    pub(crate) statements: Counter,
    pub(crate) appended_rows: Counter,
}
