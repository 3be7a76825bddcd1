//! The engine: a store with its caches and threads, shared by the whole process.

use crate::batch::Batch;
use crate::batch::appender::Appender;
use crate::copy;
use crate::copy::cut::{Cut, Selection};
use crate::copy::options::{CopyOptions, CopyReport};
use crate::inspect::caches::{self, CacheFigures};
use crate::inspect::content_hash::ContentHash;
use crate::inspect::stats::{SliceStats, TableStats};
use crate::inspect::verify::{self, VerifyReport};
use crate::read::snapshot::{ReadSnapshot, find_table, schema_names};
use crate::shared::Shared;
use crate::shared::cache::{CacheStats, ColumnCache};
use crate::shared::commit::Committer;
use crate::shared::commit_locks::CommitLocks;
use crate::shared::definitions::Definitions;
use crate::shared::dictionary::Dictionaries;
use crate::shared::environment::{Environment, SystemEnvironment};
use crate::shared::greatest_keys::GreatestKeys;
use crate::shared::handle::Handle;
use crate::shared::hold::SealingHold;
use crate::shared::holds::Holds;
use crate::shared::listed_tables::LastListedTables;
use crate::shared::machine::machine_memory_bytes;
use crate::shared::numbers::Numbers;
use crate::shared::preload::{PreloadStats, Preloaded};
use crate::shared::row_checks::{RowChecks, RowCondition};
use crate::shared::session_numbers::SessionNumbers;
use crate::shared::temporary::TemporaryTables;
use crate::shared::workers::Workers;
use crate::upkeep::build_index::{self, BuildReport};
use crate::upkeep::maintenance::{self, Maintenance, TaskCall};
use crate::upkeep::preloading;
use crate::upkeep::resident_save;
use crate::upkeep::retain::{self, RetainReport};
use crate::upkeep::seal::{self, SealReport};
use atsdb_core::{
    BatchId, Check, ColumnId, CommitOutcome, Error, ErrorKind, Index, Result, Store, Table, TableDefinition, hex,
};
use atsdb_pagecache::PageCache;
use atsdb_resident::{HashSeed, ResidentTables};
use std::fmt;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The maximum number of attempts at a change of tables while other writers change definitions that it relies on.
const DEFINITION_ATTEMPTS_MAX: usize = 20;

/// The options of an engine.
pub struct EngineOptions {
    /// Size of the cache of decoded columns, in bytes.
    pub cache_bytes: usize,
    /// The cache on this machine for the pages of a store on a server.
    pub page_cache: Option<PageCache>,
    /// Maximum size in bytes of the columns that tables preload. 0 switches preloading and its thread off.
    pub preload_bytes: usize,
    /// Maximum size in bytes of all tables in memory together.
    pub resident_bytes: usize,
    /// Whether a background thread seals slices, drops expired ones and returns free space.
    pub maintenance: bool,
    /// The number of threads that encode and decode chunks. With 1, the calling thread encodes small chunks and does
    /// all sealing.
    pub threads: usize,
    /// The clock and the source of random bits.
    pub environment: Arc<dyn Environment>,
}

impl Default for EngineOptions {
    /// A column cache of a sixteenth of the machine's memory, but 64 to 512 MiB; 256 MiB of preloaded columns; half of
    /// the machine's memory for tables in memory; one thread for each core; maintenance on; the operating system's
    /// clock.
    fn default() -> Self {
        let memory = machine_memory_bytes();
        Self {
            cache_bytes: (memory / 16).clamp(64 << 20, 512 << 20),
            page_cache: None,
            preload_bytes: 256 << 20,
            resident_bytes: memory / 2,
            maintenance: true,
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            environment: Arc::new(SystemEnvironment),
        }
    }
}

impl fmt::Debug for EngineOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cache_bytes, page_cache, preload_bytes, resident_bytes, maintenance, threads, .. } = self;
        let mut shown = f.debug_struct("EngineOptions");
        shown.field("cache_bytes", cache_bytes).field("page_cache", page_cache);
        shown
            .field("preload_bytes", preload_bytes)
            .field("resident_bytes", resident_bytes)
            .field("maintenance", maintenance)
            .field("threads", threads)
            .finish()
    }
}

/// Maintenance that a layer above the engine adds, such as refreshing rollups. A process without that layer leaves this
/// work to processes that have it.
pub trait MaintenanceTask: Send + Sync {
    /// Does the work that is due, while the engine holds the maintenance lease. Between two steps it must call
    /// `may_continue`, which returns false once the lease is lost or the engine is closed. Returns whether it should
    /// run again soon.
    fn run(&self, engine: &Engine, may_continue: &dyn Fn() -> bool) -> Result<bool>;
}

/// Compiles the conditions of CHECK constraints. The engine itself knows no SQL: the layer above it implements this.
pub trait ConditionCompiler: Send + Sync {
    /// Compiles the condition of a constraint of a table with this definition. The snapshot is of the present state,
    /// which need not contain the table.
    fn compile(
        &self,
        definition: &TableDefinition,
        check: &Check,
        snapshot: &ReadSnapshot,
    ) -> Result<Arc<dyn RowCondition>>;
}

/// A store with its caches and threads. Clones are cheap and are the same engine. The background threads end when the
/// last clone, batch and appender is dropped.
#[derive(Clone)]
pub struct Engine {
    handle: Handle,
    task: Arc<OnceLock<Arc<dyn MaintenanceTask>>>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("store", &self.shared().store.url()).finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine over a store.
    pub fn new(store: Arc<dyn Store>, options: EngineOptions) -> Result<Self> {
        let seed = HashSeed::new(options.environment.hash_seed()?);
        let threads = options.threads.max(1);
        let holder = hex::encode(&options.environment.random()?);
        let shared = Arc::new(Shared {
            store,
            environment: options.environment,
            workers: Workers::new(threads),
            committer: Committer::default(),
            definitions: Definitions::default(),
            listed: LastListedTables::default(),
            dictionaries: Dictionaries::default(),
            numbers: Numbers::default(),
            cache: ColumnCache::new(options.cache_bytes),
            page_cache: options.page_cache.map(Arc::new),
            preloaded: Preloaded::new(options.preload_bytes),
            row_checks: RowChecks::default(),
            own_chunks: AtomicI64::new(0),
            commit_locks: CommitLocks::default(),
            greatest_keys: GreatestKeys::default(),
            residents: ResidentTables::new(seed, threads),
            resident_bytes: options.resident_bytes,
            holds: Holds::default(),
            holder,
            maintenance: Arc::default(),
            preloading: Arc::default(),
        });
        let task = Arc::<OnceLock<Arc<dyn MaintenanceTask>>>::default();
        let mut threads = Vec::with_capacity(2);
        if options.maintenance {
            threads.push(maintenance::start(&shared, task_of(&task))?);
        }
        if options.preload_bytes > 0 {
            threads.push(preloading::start(&shared)?);
        }
        Ok(Self { handle: Handle::new(shared, threads), task })
    }

    /// The state that the engine's clones, batches and snapshots share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared().store
    }

    /// The tables, ordered by number.
    pub fn tables(&self) -> Result<Vec<Table>> {
        let mut tables = self.shared().store.snapshot()?.tables()?;
        self.shared().definitions.note(&tables);
        tables.retain(|table| !table.definition.is_hidden());
        Ok(tables)
    }

    /// Looks a table up by name, ignoring case.
    pub fn table(&self, name: &str) -> Result<Table> {
        find_table(&self.tables()?, name).cloned()
    }

    /// The table with this name in a schema (`None` is `public`) under the newest definition that this process has
    /// seen, without asking the store: for a batch that [pins](Batch::pin_definitions) it. `None` if none was seen.
    pub fn table_seen(&self, schema: Option<&str>, name: &str) -> Option<Arc<Table>> {
        self.shared().definitions.named(schema, name)
    }

    /// Forgets a definition that turned out to be out of date.
    pub fn forget_seen(&self, table: &Table) {
        self.shared().definitions.forget(table.id);
    }

    /// The names of the schemas besides `public`, in order: those that were created, and those of tables.
    pub fn schemas(&self) -> Result<Vec<String>> {
        Ok(schema_names(&self.shared().store.snapshot()?.tables()?))
    }

    /// Returns the definition of a new table with its schema: if its name begins with an existing schema and a dot, the
    /// table is in that schema.
    pub fn placed(&self, definition: &TableDefinition) -> Result<TableDefinition> {
        match definition.schema.is_none() && definition.name.contains('.') {
            true => Ok(definition.placed(&self.schemas()?)),
            false => Ok(definition.clone()),
        }
    }

    /// The program's own table with this name, which users do not see; `None` if it does not exist.
    pub fn system_table(&self, name: &str) -> Result<Option<Table>> {
        Ok(self.snapshot()?.system_table(name).cloned())
    }

    /// Creates a table.
    pub fn create_table(&self, definition: &TableDefinition) -> Result<Table> {
        match definition.names_others() {
            true => self.in_attempts(|batch| batch.create_table(definition)),
            false => self.shared().store.create_table(definition, None),
        }
    }

    /// Drops a table with all its rows, and frees its space.
    pub fn drop_table(&self, table: &Table) -> Result<()> {
        self.in_attempts(|batch| batch.drop_table(table))?;
        self.free_dropped();
        Ok(())
    }

    /// Frees the space of dropped tables. Failures are ignored: background maintenance retries.
    pub fn free_dropped(&self) {
        self.shared().give_back();
    }

    /// Runs work in a separate batch, and retries it if definitions change in the meantime.
    fn in_attempts<T>(&self, work: impl Fn(&mut Batch) -> Result<T>) -> Result<T> {
        let mut attempt = 1;
        loop {
            let mut batch = self.batch(None);
            let done = work(&mut batch)?;
            match batch.commit() {
                Err(error) if error.kind() == ErrorKind::Conflict && attempt < DEFINITION_ATTEMPTS_MAX => attempt += 1,
                committed => return committed.map(|_| done),
            }
        }
    }

    /// Begins a batch: rows of any number of tables that become visible together. A batch with an id counts once, even
    /// if it is sent several times.
    pub fn batch(&self, id: Option<BatchId>) -> Batch {
        Batch::new(self.handle.clone(), id)
    }

    /// Returns whether a batch with this id, or with a part of this id, is committed, and as durable as the store was
    /// opened for. This costs as much as a commit.
    pub fn has_committed(&self, id: &BatchId) -> bool {
        self.handle.shared.has_committed(id)
    }

    /// [`has_committed`](Self::has_committed) for several ids, at the cost of one commit.
    pub fn have_committed(&self, ids: &[BatchId]) -> Vec<bool> {
        self.handle.shared.have_committed(ids)
    }

    /// An appender to one table.
    pub fn appender(&self, table: &Table) -> Appender {
        Appender::new(&self.handle, table)
    }

    /// The temporary tables of a new session: none yet.
    pub fn temporary_tables(&self) -> TemporaryTables {
        TemporaryTables::new(self.handle.clone())
    }

    /// The drawn identity numbers of a new session: none yet.
    pub fn session_numbers(&self) -> SessionNumbers {
        SessionNumbers::new(self.shared())
    }

    /// Returns the definition of a table to which this many columns will be added, prepared so that no new column gets
    /// a number that already has strings: a transaction that was rolled back leaves the strings of the columns that it
    /// added.
    pub fn with_unused_numbers(&self, table: &Table, added: usize) -> Result<TableDefinition> {
        let (mut definition, snapshot) = (table.definition.clone(), self.shared().store.snapshot()?);
        let (mut number, mut unused) = (definition.next_column_id().0, 0);
        while unused < added {
            let is_unused = snapshot.mapping(table.id, ColumnId(number), 0)?.is_empty();
            number = number.saturating_add(1);
            if is_unused {
                unused += 1;
            } else {
                (unused, definition.columns_given) = (0, number);
            }
        }
        Ok(definition)
    }

    /// Returns the table with identity columns that begin where counting now continues.
    pub fn continued(&self, mut table: Table) -> Result<Table> {
        table.definition.continue_counters(|column| self.shared().counter(table.id, column))?;
        Ok(table)
    }

    /// Takes a snapshot of the present state, for reading.
    pub fn snapshot(&self) -> Result<ReadSnapshot> {
        ReadSnapshot::take(self.shared())
    }

    /// Returns whether a snapshot is taken without waiting: no other process or machine has to answer, and no commit
    /// that changes tables in memory, which snapshots wait for, is running.
    pub fn is_at_hand(&self) -> bool {
        self.shared().store.is_at_hand() && !self.shared().residents.is_changing()
    }

    /// Figures of the cache of decoded columns.
    pub fn cache_stats(&self) -> CacheStats {
        self.shared().cache.stats()
    }

    /// The cache of pages on this machine, if the store has one.
    pub fn page_cache(&self) -> Option<&PageCache> {
        self.shared().page_cache.as_deref()
    }

    /// Adds work of the layer above to background maintenance. If it is called several times, the first task stays.
    pub fn set_maintenance_task(&self, task: Arc<dyn MaintenanceTask>) {
        let _ = self.task.set(task);
    }

    /// Adds what the layer above knows about the conditions of CHECK constraints. If it is called several times, the
    /// first compiler stays. Without one, rows of tables with constraints are refused.
    pub fn set_condition_compiler(&self, compiler: Arc<dyn ConditionCompiler>) {
        let shared = Arc::downgrade(self.shared());
        self.shared().row_checks.set_compiler(move |definition, check| {
            let shared = shared.upgrade().ok_or_else(|| Error::internal("the engine is closed"))?;
            compiler.compile(definition, check, &ReadSnapshot::take(&shared)?)
        });
    }

    /// Background maintenance, for a caller that has switched the thread off and decides itself when to run it.
    pub fn maintenance(&self) -> Maintenance {
        Maintenance::new(self.shared(), task_of(&self.task))
    }

    /// Milliseconds since the Unix epoch, by the engine's clock.
    pub fn now_ms(&self) -> i64 {
        self.shared().environment.now_ms()
    }

    /// Microseconds since the Unix epoch, by the engine's clock.
    pub fn now_us(&self) -> i64 {
        self.shared().environment.now_us()
    }

    /// The time since an arbitrary moment, by the engine's monotonic clock.
    pub fn uptime(&self) -> Duration {
        self.shared().environment.uptime()
    }

    /// Pauses sealing in the background until the hold is dropped. A transaction takes one when it begins.
    pub fn hold(&self) -> SealingHold {
        SealingHold::new(self.shared())
    }

    /// Seals all slices of one table, or of all tables, that have fresh chunks, and frees the space. Chunks with
    /// another slice width than the table's are re-sliced first. A damaged slice is left unchanged and reported as
    /// [`Corrupt`](ErrorKind::Corrupt) after the others are sealed.
    pub fn recompress(&self, table: Option<&Table>) -> Result<SealReport> {
        seal::recompress(self.shared(), table)
    }

    /// Drops the expired slices of one table, or of all tables, and frees their space.
    pub fn retain(&self, table: Option<&Table>) -> Result<RetainReport> {
        retain::retain(self.shared(), table)
    }

    /// Builds the index pages of all chunks that have none. The index must be in the table's definition already, so
    /// that chunks appended in the meantime bring their own. Pages built by another process or by an interrupted call
    /// are kept.
    ///
    /// Errors: [`NotFound`](ErrorKind::NotFound) if the table or index was dropped; [`Corrupt`](ErrorKind::Corrupt),
    /// after all other chunks have their pages, if a chunk is damaged.
    pub fn build_index(&self, table: &Table, index: &Index) -> Result<BuildReport> {
        build_index::build_index(self.shared(), table, index)
    }

    /// Saves the rows of tables in memory, all or none. They replace the rows saved before, and every process that uses
    /// a table for the first time starts with them. A table that this process has not used is skipped. Returns the
    /// number of rows saved.
    pub fn save_resident(&self, tables: &[Table]) -> Result<u64> {
        resident_save::save_resident(&self.handle, tables)
    }

    /// Commits a batch with rows of one table. Rows of a table in memory would be lost when the process ends, so the
    /// same commit saves them, unless the store is in memory, too.
    pub fn commit_saved(&self, batch: Batch, table: &Table) -> Result<CommitOutcome> {
        resident_save::commit_saved(&self.handle, batch, table)
    }

    /// Loads the columns that tables declare by `preload` now, and returns the amount. The background thread also does
    /// this without a call.
    pub fn preload(&self) -> Result<PreloadStats> {
        preloading::preload(self.shared())?;
        Ok(self.preload_stats())
    }

    /// Figures of preloading.
    pub fn preload_stats(&self) -> PreloadStats {
        self.shared().preloaded.stats()
    }

    /// Figures of all caches on this machine, in the order in which a read uses them. Hits and misses are those of this
    /// process, except for the page cache: there they are those of all processes that have read the store on this
    /// machine.
    pub fn caches(&self) -> Vec<CacheFigures> {
        caches::caches(self.shared())
    }

    /// Figures of one table, or of all tables.
    pub fn stats(&self, table: Option<&Table>) -> Result<Vec<TableStats>> {
        self.snapshot()?.stats(table)
    }

    /// Figures of a table's slices, earliest first.
    pub fn slices(&self, table: &Table) -> Result<Vec<SliceStats>> {
        self.snapshot()?.slices(table)
    }

    /// The content hashes of one table, or of all tables, ordered by name.
    pub fn content_hashes(&self, table: Option<&Table>) -> Result<Vec<ContentHash>> {
        self.snapshot()?.content_hashes(table)
    }

    /// Checks the store's structures and every page of one table, or of all tables. Damage is a finding, not an error.
    pub fn verify(&self, table: Option<&Table>) -> Result<VerifyReport> {
        verify::verify(self.shared(), table, None)
    }

    /// The same as [`verify`](Self::verify). `on_rows` is called repeatedly with the rows that were checked so far, and
    /// with all rows to check.
    pub fn verify_watched(&self, table: Option<&Table>, on_rows: &dyn Fn(u64, u64)) -> Result<VerifyReport> {
        verify::verify(self.shared(), table, Some(on_rows))
    }

    /// A cut: the contents that a copy of the store would have now.
    pub fn cut(&self, selection: &Selection) -> Result<Cut> {
        Cut::of(&self.snapshot()?, selection)
    }

    /// Copies a cut into the store.
    pub fn copy_from(&self, cut: &Cut, options: &CopyOptions) -> Result<CopyReport> {
        copy::copy_from(self.shared(), cut, options)
    }
}

/// The task, if one is set at the time of the call, in the form for the maintenance thread. The thread does not keep
/// the engine alive.
fn task_of(task: &Arc<OnceLock<Arc<dyn MaintenanceTask>>>) -> TaskCall {
    let cell = Arc::clone(task);
    Box::new(move |shared, may_continue| {
        let Some(task) = cell.get() else { return Ok(false) };
        task.run(&Engine { handle: Handle::without_threads(shared), task: Arc::clone(&cell) }, may_continue)
    })
}
