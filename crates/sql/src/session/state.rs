//! A session: its engine, its resources, and its open transaction.

use super::files::FileWriter;
use super::open_transaction::Transaction;
use crate::check::compiler::compile_conditions_of;
use crate::dml::files::FileReader;
use crate::rollup::background::RollupMaintenance;
use crate::run::interrupt::Interrupt;
use crate::run::kept_memory::KeptMemory;
use crate::run::options::SessionOptions;
use crate::run::permission::{Permission, Restriction};
use crate::run::statement_waits::StatementWaits;
use crate::run::worker::Worker;
use atsdb_core::Result;
use atsdb_dialect::functions::session::identity::SessionIdentity;
use atsdb_dialect::functions::session::lock_table::{HeldLock, OpenScope, SessionLocks};
use atsdb_dialect::text::script::Statements;
use atsdb_dialect::text::skipped::SkipNotice;
use atsdb_engine::{Engine, SessionNumbers, TemporaryTables};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Executes SQL. A session may be shared by threads; [`interrupt_handle`](Self::interrupt_handle) then interrupts all
/// of them.
pub struct Session {
    pub(super) engine: Engine,
    pub(super) options: SessionOptions,
    pub(super) worker: Arc<Worker>,
    pub(super) interrupt: Interrupt,
    pub(super) restriction: Arc<Restriction>,
    /// The temporary tables and views.
    pub(super) temporary: TemporaryTables,
    /// The numbers of identity columns that it has drawn.
    pub(super) numbers: SessionNumbers,
    /// The scopes of its advisory locks.
    pub(super) locks: Arc<SessionLocks>,
    /// Holds the locks of the session until it ends.
    _lock_scope: OpenScope,
    /// The open transaction, if there is one.
    pub(super) transaction: Mutex<Option<Transaction>>,
    /// The notice about the table that was created last, or about an index that the last commit left incomplete. `None`
    /// without one, and once it is taken.
    pub(super) notice: Mutex<Option<String>>,
    /// The notices about what the last definition or other declaration has skipped because of `IF EXISTS` or `IF NOT
    /// EXISTS`.
    pub(super) skipped: Mutex<Vec<SkipNotice>>,
    /// The reader for files that statements name; without one, no file is opened.
    pub(super) files: Option<Arc<dyn FileReader>>,
    /// The writer for files that statements name.
    pub(super) file_writer: Option<Arc<dyn FileWriter>>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("engine", &self.engine).field("options", &self.options).finish_non_exhaustive()
    }
}

/// Interrupts a session from any thread.
#[derive(Debug, Clone)]
pub struct InterruptHandle(Interrupt);

impl InterruptHandle {
    /// Ends the running statement, and the rows that are being read, with
    /// [`ErrorKind::Interrupted`](atsdb_core::ErrorKind::Interrupted). If no statement is running, nothing happens: the
    /// next statement is not affected.
    pub fn interrupt(&self) {
        self.0.request();
    }
}

impl Session {
    /// Creates a session over an engine. This is cheap, because threads are started by the first query.
    pub fn new(engine: Engine, options: SessionOptions) -> Result<Self> {
        engine.set_maintenance_task(Arc::new(RollupMaintenance::new(&options)));
        compile_conditions_of(&engine);
        let worker = Arc::new(Worker::new(&options));
        Ok(Self::on(worker, engine, options))
    }

    fn on(worker: Arc<Worker>, engine: Engine, options: SessionOptions) -> Self {
        let interrupt = Interrupt::with_time_limit(options.time_limit);
        let permission = if options.read_only { Permission::Read } else { Permission::Define };
        let restriction = Arc::new(Restriction::new(permission, "the session may only read"));
        let numbers = engine.session_numbers();
        interrupt.set_sequences(numbers.clone(), Arc::clone(&restriction));
        let (locks, lock_scope) = SessionLocks::begin(worker.locks());
        let locks = Arc::new(locks);
        interrupt.set_locks(Arc::clone(&locks));
        let (transaction, temporary) = (Mutex::new(None), engine.temporary_tables());
        Self {
            engine,
            options,
            worker,
            interrupt,
            restriction,
            temporary,
            numbers,
            locks,
            _lock_scope: lock_scope,
            transaction,
            notice: Mutex::new(None),
            skipped: Mutex::default(),
            files: None,
            file_writer: None,
        }
    }

    /// Creates another session over the same engine, with the same options, which shares this one's threads and memory.
    /// It has its own transaction, temporary tables, interrupts and time limit, and no reader or writer of files. If
    /// sessions share memory, a query may hold half of it while it runs alone, and a third while another large one
    /// runs, so that there is always some left. A query that needs more fails with
    /// [`ErrorKind::Resources`](atsdb_core::ErrorKind::Resources); the others continue.
    pub fn sharing(&self) -> Self {
        self.worker.share();
        Self::on(Arc::clone(&self.worker), self.engine.clone(), self.options.clone())
    }

    /// Creates a session over another engine, with this one's options, threads and memory. The two engines have nothing
    /// in common: sessions that [`share`](Self::sharing) with the new one are over the other engine.
    pub fn for_other_engine(&self, engine: Engine) -> Self {
        engine.set_maintenance_task(Arc::new(RollupMaintenance::new(&self.options)));
        compile_conditions_of(&engine);
        Self::on(Arc::new(self.worker.for_other_store()), engine, self.options.clone())
    }

    /// Sets the maximum duration of a query, from the next one on; `None` means no limit.
    pub fn set_time_limit(&self, time_limit: Option<Duration>) {
        self.interrupt.set_time_limit(time_limit);
    }

    /// Sets what `current_user` and `current_database()` return. Without it, both return `atsdb`.
    pub fn set_identity(&self, user: impl Into<String>, database: impl Into<String>) {
        self.interrupt.set_identity(SessionIdentity { user: user.into(), database: database.into() });
    }

    /// Sets the number of the process by which [`advisory_locks`](Self::advisory_locks) names the session.
    pub fn set_process(&self, process: i32) {
        self.locks.set_process(process);
    }

    /// The advisory locks that the sessions over the store hold.
    pub fn advisory_locks(&self) -> Vec<HeldLock> {
        self.locks.held()
    }

    /// Sets who awaits what statements wait for on purpose, from the next such wait on.
    pub fn set_waits(&self, waits: Arc<dyn StatementWaits>) {
        self.interrupt.set_waits(waits);
    }

    /// Sets the rights of statements, from the next one on. Other statements are refused with
    /// [`ErrorKind::ReadOnly`](atsdb_core::ErrorKind::ReadOnly) and the reason as the message.
    pub fn restrict(&self, permission: Permission, reason: impl Into<String>) {
        self.restriction.set(permission, reason.into());
    }

    /// Fails if the session does not have this right, with the same error as a statement that needs it.
    pub fn require(&self, needed: Permission) -> Result<()> {
        self.restriction.require(needed)
    }

    /// Takes the notice for people about the last statement, if there is one: after `CREATE TABLE`, which column became
    /// the time, if the statement does not show it; after `COMMIT`, that an index is not complete.
    pub fn take_notice(&self) -> Option<String> {
        self.notice.lock().take()
    }

    /// Returns the notice that [`take_notice`](Self::take_notice) would take, and keeps it.
    pub fn notice(&self) -> Option<String> {
        self.notice.lock().clone()
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Splits a script into its statements, one by one. An error names line and column, and is the last item.
    pub fn statements<'a>(&self, text: &'a str) -> Statements<'a> {
        Statements::new(text)
    }

    /// Returns memory, of that which its queries use, for rows of answers that the caller keeps.
    pub fn kept_memory(&self) -> KeptMemory {
        self.worker.kept_memory()
    }

    /// Begins work of the caller that an interrupt of the session should end. Earlier interrupts no longer count.
    pub fn begin_interruptible(&self) {
        self.interrupt.reset();
    }

    /// Fails with [`ErrorKind::Interrupted`](atsdb_core::ErrorKind::Interrupted) if the session was interrupted since
    /// the last statement, or the last [`begin_interruptible`](Self::begin_interruptible), began.
    pub fn check_interrupt(&self) -> Result<()> {
        self.interrupt.check()
    }

    /// Returns a handle that interrupts this session.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle(self.interrupt.clone())
    }
}
