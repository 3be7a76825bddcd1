//! A session: the engine that it works on, what it may use, and what has been begun.

use super::files::FileWriter;
use super::open_transaction::Transaction;
use crate::dml::files::FileReader;
use crate::rollup::background::RollupMaintenance;
use crate::run::interrupt::Interrupt;
use crate::run::options::SessionOptions;
use crate::run::worker::Worker;
use crate::text::script::Statements;
use atsdb_core::Result;
use atsdb_engine::Engine;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Executes SQL. May be shared by threads; [`interrupt_handle`](Self::interrupt_handle) then stops what any of
/// them waits for.
pub struct Session {
    pub(super) engine: Engine,
    pub(super) options: SessionOptions,
    /// Made by the first query: a program that only inserts and declares starts without.
    pub(super) worker: Mutex<Option<Arc<Worker>>>,
    pub(super) interrupt: Interrupt,
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
        Ok(Self {
            engine,
            options,
            worker: Mutex::new(None),
            interrupt: Interrupt::default(),
            transaction: Mutex::new(None),
            files: None,
            file_writer: None,
        })
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

    pub(super) fn worker(&self) -> Result<Arc<Worker>> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        match worker.as_ref().filter(|worker| !worker.is_abandoned()) {
            Some(worker) => Ok(Arc::clone(worker)),
            None => Ok(Arc::clone(worker.insert(Arc::new(Worker::new(&self.options)?)))),
        }
    }
}
