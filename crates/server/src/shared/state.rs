//! The state that the rooms share.

use super::clock;
use super::log::Log;
use super::metrics::Metrics;
use super::phase::PhaseFollower;
use super::running::Running;
use atsdb::Database;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The state of a server. Clones share the same state.
#[derive(Debug, Clone)]
pub(crate) struct State(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    database: Database,
    metrics: Metrics,
    running: Running,
    log: Log,
    phase: PhaseFollower,
    started: Instant,
}

impl State {
    pub(crate) fn new(database: Database, phase: PhaseFollower, log: Log) -> Self {
        let (metrics, running) = (Metrics::default(), Running::new(log.clone()));
        Self(Arc::new(Inner { database, metrics, running, log, phase, started: clock::now() }))
    }

    /// The store that is served.
    pub(crate) fn database(&self) -> &Database {
        &self.0.database
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// The running statements.
    pub(crate) fn running(&self) -> &Running {
        &self.0.running
    }

    pub(crate) fn log(&self) -> &Log {
        &self.0.log
    }

    pub(crate) fn phase(&self) -> PhaseFollower {
        self.0.phase.clone()
    }

    /// How long the server has run.
    pub(crate) fn uptime(&self) -> Duration {
        clock::now() - self.0.started
    }
}
