//! A session: the engine that it works on, what it may use, and what has been begun.

use super::files::FileWriter;
use super::open_transaction::Transaction;
use crate::dml::files::FileReader;
use crate::rollup::background::RollupMaintenance;
use crate::run::interrupt::Interrupt;
use crate::run::options::SessionOptions;
use crate::run::permission::{Permission, Restriction};
use crate::run::worker::Worker;
use crate::text::script::Statements;
use atsdb_core::Result;
use atsdb_engine::Engine;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Executes SQL. May be shared by threads; [`interrupt_handle`](Self::interrupt_handle) then stops what any of
/// them waits for.
pub struct Session {
    pub(super) engine: Engine,
    pub(super) options: SessionOptions,
    pub(super) worker: Arc<Worker>,
    pub(super) interrupt: Interrupt,
    pub(super) restriction: Restriction,
    /// What has been begun and is not committed.
    pub(super) transaction: Mutex<Option<Transaction>>,
    /// Who opens the files that statements name; without, none is opened.
    pub(super) files: Option<Arc<dyn FileReader>>,
    /// Who writes them.
    pub(super) file_writer: Option<Arc<dyn FileWriter>>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("engine", &self.engine).field("options", &self.options).finish_non_exhaustive()
    }
}

/// Stops what a session is doing, from any thread.
#[derive(Debug, Clone)]
pub struct InterruptHandle(Interrupt);

impl InterruptHandle {
    /// The running statement, and the rows that are being read, end with
    /// [`ErrorKind::Interrupted`](atsdb_core::ErrorKind::Interrupted). Without one
    /// nothing happens: the next statement begins afresh.
    pub fn interrupt(&self) {
        self.0.ask();
    }
}

impl Session {
    /// A session over an engine. Cheap: threads are started by the first query.
    pub fn new(engine: Engine, options: SessionOptions) -> Result<Self> {
        engine.set_maintenance_task(Arc::new(RollupMaintenance::new(&options)));
        let worker = Arc::new(Worker::new(&options));
        Ok(Self::on(worker, engine, options))
    }

    fn on(worker: Arc<Worker>, engine: Engine, options: SessionOptions) -> Self {
        let interrupt = Interrupt::with_time_limit(options.time_limit);
        let permission = if options.read_only { Permission::Read } else { Permission::Define };
        let restriction = Restriction::new(permission, "the session may only read");
        let transaction = Mutex::new(None);
        Self { engine, options, worker, interrupt, restriction, transaction, files: None, file_writer: None }
    }

    /// Another session over the same engine, with the same options, which shares this one's threads and memory. Its
    /// transaction, its interrupts and its time limit are its own; it has no reader or writer of files.
    ///
    /// Where sessions share, a query may hold half of the memory while it runs alone, and a third while another large
    /// one runs, so that there is always some left. One that needs more fails with
    /// [`ErrorKind::Resources`](atsdb_core::ErrorKind::Resources); the others go on.
    pub fn sharing(&self) -> Self {
        self.worker.share();
        Self::on(Arc::clone(&self.worker), self.engine.clone(), self.options.clone())
    }

    /// Sets the longest that a query may take, from the next one on; `None` for as long as it takes.
    pub fn set_time_limit(&self, time_limit: Option<Duration>) {
        self.interrupt.set_time_limit(time_limit);
    }

    /// Sets what statements may do, from the next one on. Others are refused with
    /// [`ErrorKind::ReadOnly`](atsdb_core::ErrorKind::ReadOnly) and the reason as the message.
    pub fn restrict(&self, permission: Permission, reason: impl Into<String>) {
        self.restriction.set(permission, reason.into());
    }

    /// Refuses what the session may not do, as a statement that needs it would be.
    pub fn require(&self, needed: Permission) -> Result<()> {
        self.restriction.require(needed)
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Splits a script into its statements, one by one. An error names line and column; nothing follows it.
    pub fn statements<'a>(&self, text: &'a str) -> Statements<'a> {
        Statements::new(text)
    }

    /// A handle that stops what this session is doing.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle(self.interrupt.clone())
    }
}
