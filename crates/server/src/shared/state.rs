//! The state that the rooms share.

use super::clock;
use super::log::Log;
use super::metrics::Metrics;
use super::permits::StatementPermits;
use super::phase::PhaseFollower;
use super::running::{ProcessNumbers, Running};
use super::statement_options::StatementOptions;
use atsdb::sql::{Session, SessionOptions};
use atsdb::{Database, Result};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The state of a server. Clones share the same state.
#[derive(Debug, Clone)]
pub(crate) struct State(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    database: Database,
    /// The session whose threads, memory and plans those of all clients share.
    root: Session,
    permits: StatementPermits,
    statements: StatementOptions,
    metrics: Metrics,
    running: Running,
    log: Log,
    phase: PhaseFollower,
    started: Instant,
}

impl State {
    pub(crate) fn new(
        database: Database,
        statements: StatementOptions,
        phase: PhaseFollower,
        log: Log,
    ) -> Result<Self> {
        // Files are those that a session's reader offers; a session of `session` has no reader.
        let memory_bytes = statements.memory_bytes;
        let root = database.session(SessionOptions { memory_bytes, file_access: true, ..SessionOptions::default() })?;
        let (metrics, running, permits) = (
            Metrics::default(),
            Running::new(ProcessNumbers::default(), log.clone()),
            StatementPermits::new(&statements),
        );
        let started = clock::now();
        Ok(Self(Arc::new(Inner { database, root, permits, statements, metrics, running, log, phase, started })))
    }

    /// The store that is served.
    pub(crate) fn database(&self) -> &Database {
        &self.0.database
    }

    /// A session of its own for a client or a request: with its own transaction, rights, interrupts and time limit, on
    /// the threads and the memory of all. It may not name files.
    pub(crate) fn session(&self) -> Session {
        self.0.root.sharing()
    }

    /// The permits of running statements.
    pub(crate) fn permits(&self) -> &StatementPermits {
        &self.0.permits
    }

    /// The limits of statements.
    pub(crate) fn statements(&self) -> &StatementOptions {
        &self.0.statements
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
