//! The context in which requests are answered.

use super::source::LabelCache;
use super::writer::{SampleQueue, SampleWriter};
use crate::access::role::Role;
use crate::ingest::options::IngestOptions;
use crate::ingest::request_memory::RequestMemory;
use crate::shared::metrics::Counter;
use crate::shared::permits::StatementPermits;
use crate::shared::state::DatabaseState;
use crate::shared::statement_options::StatementOptions;
use atsdb::Database;
use atsdb::sql::Permission;
use atsdb_prom::remote::SeriesCache;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The number of API requests that are answered at a time; others wait.
const REQUESTS_AT_ONCE: usize = 8;

/// The context in which requests are answered, over HTTP and gRPC.
#[derive(Debug, Clone)]
pub(crate) struct Prom {
    pub(crate) database: Database,
    pub(crate) queue: SampleQueue,
    pub(crate) memory: RequestMemory,
    pub(crate) ingest: Arc<IngestOptions>,
    pub(crate) labels: LabelCache,
    /// The series that remote write has sent.
    pub(crate) sent_series: Arc<SeriesCache>,
    /// The limits of statements.
    pub(crate) statements: Arc<StatementOptions>,
    /// The permission of the caller's role, which has limits of its own.
    pub(crate) permission: Permission,
    pub(crate) turns: Arc<Semaphore>,
    pub(crate) permits: StatementPermits,
    pub(crate) metrics: PromMetrics,
}

/// The metrics of this room.
#[derive(Debug, Clone)]
pub(crate) struct PromMetrics {
    pub(crate) samples: Counter,
    pub(crate) histograms: Counter,
    pub(crate) refused_histograms: Counter,
    pub(crate) exemplars: Counter,
    pub(crate) refused_exemplars: Counter,
    pub(crate) refused_series: Counter,
    pub(crate) rejected_points: Counter,
    failed: Counter,
}

impl PromMetrics {
    /// Counts a write request that stored nothing.
    pub(crate) fn refused<T>(&self, answer: T) -> T {
        self.failed.increment();
        answer
    }
}

impl Prom {
    pub(crate) fn new(state: &DatabaseState, memory: RequestMemory, ingest: Arc<IngestOptions>) -> Self {
        let counter = |name, help| state.metrics().counter(name, help);
        let metrics = PromMetrics {
            samples: counter("atsdb_prom_samples_stored_total", "Samples of remote write and OTLP that were stored."),
            histograms: counter("atsdb_prom_histograms_stored_total", "Native histograms that were stored."),
            refused_histograms: counter(
                "atsdb_prom_histograms_dropped_total",
                "Native histograms that can never be stored.",
            ),
            exemplars: counter("atsdb_prom_exemplars_stored_total", "Exemplars that were stored."),
            refused_exemplars: counter(
                "atsdb_prom_exemplars_dropped_total",
                "Exemplars of series that can never be stored.",
            ),
            refused_series: counter("atsdb_prom_series_refused_total", "Series that can never be stored."),
            rejected_points: counter("atsdb_otlp_points_rejected_total", "Points of OTLP that were not stored."),
            failed: counter("atsdb_prom_write_requests_failed_total", "Requests of remote write and OTLP that failed."),
        };
        let database = state.database().clone();
        Self {
            queue: SampleQueue::new(SampleWriter::new(database.clone())),
            database,
            memory,
            ingest,
            statements: Arc::new(state.statements().clone()),
            permission: Permission::Define,
            labels: LabelCache::default(),
            sent_series: Arc::default(),
            turns: Arc::new(Semaphore::new(REQUESTS_AT_ONCE)),
            permits: state.permits().clone(),
            metrics,
        }
    }

    /// The context for the requests of a role.
    pub(crate) fn of_role(self, role: Role) -> Self {
        Self { permission: role.permission(), ..self }
    }

    /// The maximum size of the samples that a query holds, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.statements.memory_of_one()
    }

    /// Milliseconds since 1970, by the engine's clock.
    pub(crate) fn now_ms(&self) -> i64 {
        self.database.engine().now_ms()
    }
}
