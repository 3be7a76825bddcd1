//! The context in which requests are answered.

use super::options::QueryOptions;
use crate::ingest::options::IngestOptions;
use crate::ingest::request_memory::RequestMemory;
use crate::shared::metrics::Counter;
use crate::shared::state::DatabaseState;
use std::sync::Arc;

/// The context in which requests are answered.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) state: DatabaseState,
    pub(crate) options: Arc<QueryOptions>,
    pub(crate) memory: RequestMemory,
    pub(crate) ingest: Arc<IngestOptions>,
    pub(crate) metrics: QueryMetrics,
}

#[derive(Debug, Clone)]
pub(crate) struct QueryMetrics {
    pub(crate) statements: Counter,
    pub(crate) appended_rows: Counter,
}
