//! The state that the rooms share: that of the server, and that of each database.

use super::clock;
use super::log::Log;
use super::metrics::Metrics;
use super::permits::StatementPermits;
use super::phase::PhaseFollower;
use super::running::{ProcessNumbers, Running};
use super::statement_options::StatementOptions;
use super::traces::Traces;
use atsdb::sql::{ParsedAnswers, Session, SessionOptions};
use atsdb::{Database, Result};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The name under which a database without a name is listed.
pub(crate) const UNNAMED: &str = "atsdb";

/// The state of a server, which its databases share. Clones share the same state.
#[derive(Debug, Clone)]
pub(crate) struct ServerState(Arc<ServerInner>);

#[derive(Debug)]
struct ServerInner {
    /// The session whose threads and memory those of all databases share. The first database brings it.
    root: Mutex<Option<Session>>,
    permits: StatementPermits,
    statements: StatementOptions,
    metrics: Metrics,
    processes: ProcessNumbers,
    log: Log,
    traces: Traces,
    phase: PhaseFollower,
    started: Instant,
    started_ns: i64,
}

/// The state of one database of a server. Clones share the same state.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseState(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    server: ServerState,
    name: Option<String>,
    database: Database,
    /// The session whose threads, memory and plans those of all clients of the database share.
    root: Session,
    metrics: Metrics,
    running: Running,
    answers: ParsedAnswers,
}

impl ServerState {
    /// A state without traces.
    #[cfg(test)]
    pub(crate) fn new(statements: StatementOptions, phase: PhaseFollower, log: Log) -> Self {
        Self::with_traces(statements, phase, log, Traces::default(), Metrics::default())
    }

    pub(crate) fn with_traces(
        statements: StatementOptions,
        phase: PhaseFollower,
        log: Log,
        traces: Traces,
        metrics: Metrics,
    ) -> Self {
        Self(Arc::new(ServerInner {
            root: Mutex::default(),
            permits: StatementPermits::new(&statements, &metrics),
            statements,
            metrics,
            processes: ProcessNumbers::default(),
            log,
            traces,
            phase,
            started: clock::now(),
            started_ns: clock::wall_ns(),
        }))
    }

    /// The root session of a database.
    fn root(&self, database: &Database) -> Result<Session> {
        let mut root = self.0.root.lock();
        if let Some(root) = &*root {
            return Ok(database.session_beside(root));
        }
        // Files are those that a session's reader offers; a session of `session` has no reader.
        let StatementOptions { memory_bytes, temp_bytes, .. } = self.0.statements;
        let options = SessionOptions { memory_bytes, temp_bytes, file_access: true, ..SessionOptions::default() };
        let first = database.session(options)?;
        Ok(root.insert(first).sharing())
    }

    /// The metrics of the server itself, such as its connections.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn log(&self) -> &Log {
        &self.0.log
    }

    pub(crate) fn traces(&self) -> &Traces {
        &self.0.traces
    }

    pub(crate) fn phase(&self) -> PhaseFollower {
        self.0.phase.clone()
    }

    /// When the server started, in nanoseconds since 1970.
    pub(crate) fn started_ns(&self) -> i64 {
        self.0.started_ns
    }

    /// Returns the time for which the server has run.
    pub(crate) fn uptime(&self) -> Duration {
        clock::now() - self.0.started
    }
}

impl DatabaseState {
    /// The state of a database. Its name is that in the log and in its sessions, if it has one.
    pub(crate) fn new(server: &ServerState, name: Option<&str>, database: Database) -> Result<Self> {
        let root = server.root(&database)?;
        let running = Running::new(server.0.processes.clone(), server.log().clone(), server.traces().clone(), name);
        let (server, name) = (server.clone(), name.map(str::to_owned));
        let (metrics, answers) = (Metrics::default(), ParsedAnswers::default());
        Ok(Self(Arc::new(Inner { server, name, database, root, metrics, running, answers })))
    }

    /// The open store.
    pub(crate) fn database(&self) -> &Database {
        &self.0.database
    }

    /// A session of its own for a client or a request: with its own transaction, rights, interrupts and time limit, on
    /// the threads and the memory of all. It may not name files.
    pub(crate) fn session(&self) -> Session {
        self.0.root.sharing()
    }

    /// A session of a user, if the database has users. It says so by `current_user`.
    pub(crate) fn session_of(&self, user: Option<&str>) -> Session {
        let session = self.session();
        if user.is_some() || self.0.name.is_some() {
            session.set_identity(user.unwrap_or(UNNAMED), self.0.name.as_deref().unwrap_or(UNNAMED));
        }
        session
    }

    /// When the server started, in nanoseconds since 1970.
    pub(crate) fn started_ns(&self) -> i64 {
        self.0.server.started_ns()
    }

    /// The permits of running statements, which all databases share.
    pub(crate) fn permits(&self) -> &StatementPermits {
        &self.0.server.0.permits
    }

    /// The limits of statements.
    pub(crate) fn statements(&self) -> &StatementOptions {
        &self.0.server.0.statements
    }

    /// The metrics of the database.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// Statements of all clients, parsed to see what their answers show.
    pub(crate) fn answers(&self) -> &ParsedAnswers {
        &self.0.answers
    }

    /// The running statements of the database.
    pub(crate) fn running(&self) -> &Running {
        &self.0.running
    }

    pub(crate) fn log(&self) -> &Log {
        self.0.server.log()
    }

    pub(crate) fn phase(&self) -> PhaseFollower {
        self.0.server.phase()
    }
}
