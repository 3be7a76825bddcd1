//! The context in which requests are answered.

use crate::ingest::group::LineQueue;
use crate::ingest::options::IngestOptions;
use crate::ingest::request_memory::RequestMemory;
use crate::shared::clock;
use crate::shared::metrics::Counter;
use std::sync::Arc;

/// The context in which requests are answered.
#[derive(Debug, Clone)]
pub(crate) struct Influx {
    pub(crate) queue: LineQueue,
    pub(crate) memory: RequestMemory,
    pub(crate) options: Arc<IngestOptions>,
    pub(crate) metrics: InfluxMetrics,
}

#[derive(Debug, Clone)]
pub(crate) struct InfluxMetrics {
    pub(crate) stored_lines: Counter,
    pub(crate) refused_lines: Counter,
    pub(crate) refused_requests: Counter,
    pub(crate) bytes: Counter,
}

impl Influx {
    /// The current time in nanoseconds since the epoch.
    pub(crate) fn now_ns(&self) -> i64 {
        clock::wall_ns()
    }
}
