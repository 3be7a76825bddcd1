//! The engine: a store with what works on it, shared by everybody in the process.

use crate::appender::Appender;
use crate::background::Background;
use crate::batch::Batch;
use crate::cache::{CacheStats, ColumnCache};
use crate::commit::{Committer, Refused, check_based_on};
use crate::definitions::Definitions;
use crate::dictionary::Dictionaries;
use crate::environment::{Environment, SystemEnvironment};
use crate::holds::Holds;
use crate::keys::Turns;
use crate::maintenance::{self, Chore};
use crate::preload::Preloaded;
use crate::preload_thread;
use crate::resident::half_of_memory;
use crate::snapshot::ReadSnapshot;
use crate::workers::Workers;
use atsdb_core::name::{same_name, unknown_name};
use atsdb_core::{BatchId, Change, ErrorKind, Outcome, Result, Store, Table, TableDefinition, TableId};
use atsdb_pagecache::PageCache;
use atsdb_resident::{Residents, Seed};
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

/// How often a table is dropped that changes meanwhile.
const DROP_ATTEMPTS_MAX: usize = 20;

/// How an engine works.
pub struct EngineOptions {
    /// The most bytes of decoded columns that are kept for the next reader.
    pub cache_bytes: usize,
    /// Where pages of a store on a server are kept on this machine.
    pub page_cache: Option<PageCache>,
    /// The most bytes that are held of what tables declare by `preload`; 0 is none, and no thread for it.
    pub preload_bytes: usize,
    /// The most bytes that tables in memory take, together.
    pub resident_bytes: usize,
    /// Whether slices are sealed, expired ones dropped and space given back by a thread in the background.
    pub maintenance: bool,
    /// How many threads encode and decode chunks. With 1, what is small and all of sealing is done by the calling thread.
    pub threads: usize,
    /// The clock and the source of random bits.
    pub environment: Arc<dyn Environment>,
}

impl Default for EngineOptions {
    /// 64 MiB of cache, 256 MiB of what tables preload, half of the machine's memory for tables that live there, maintenance on, the operating system's
    /// clock.
    fn default() -> Self {
        Self {
            cache_bytes: 64 << 20,
            page_cache: None,
            preload_bytes: 256 << 20,
            resident_bytes: half_of_memory(),
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

/// A store and what works on it. Cloning it is cheap; all clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
    /// Ends the background thread when the last clone goes.
    maintenance: Option<Arc<Background>>,
    /// The same for the thread that preloads.
    preloader: Option<Arc<Background>>,
}

/// What all clones, and the threads that work for them, share.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) workers: Workers,
    pub(crate) committer: Committer,
    pub(crate) definitions: Definitions,
    pub(crate) dictionaries: Dictionaries,
    pub(crate) cache: ColumnCache,
    pub(crate) page_cache: Option<Arc<PageCache>>,
    pub(crate) preloaded: Preloaded,
    /// Numbers that were given to chunks in batches' memory.
    pub(crate) own_chunks: AtomicI64,
    /// Whose turn it is to commit rows with keys.
    pub(crate) turns: Turns,
    /// What the background thread does for the layer above.
    pub(crate) chore: OnceLock<Arc<dyn Chore>>,
    /// Tables whose rows live in this process.
    pub(crate) residents: Residents,
    pub(crate) resident_bytes: usize,
    /// Transactions whose chunks are not to be sealed.
    pub(crate) holds: Holds,
    /// The name under which leases are held.
    pub(crate) holder: String,
}

impl Shared {
    /// Commits a change of tables that are there, or that it creates. It names the definitions that it was made under.
    pub(crate) fn commit(&self, change: Change, created: &[Table]) -> Result<Outcome, Refused> {
        if let Err(error) = check_based_on(&change, created) {
            return Err(Refused { error, change: Box::new(change) });
        }
        self.committer.commit(self.store.as_ref(), change, self.environment.now_ms())
    }

    /// Forgets what is known of a table that was dropped.
    pub(crate) fn forget(&self, table: TableId) {
        self.definitions.forget(table);
        self.dictionaries.forget(table);
    }

    /// A number for a chunk in a batch's memory: below zero, never used again.
    pub(crate) fn next_own_chunk(&self) -> i64 {
        self.own_chunks.fetch_sub(1, Ordering::Relaxed) - 1
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("store", &self.shared.store.url()).finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine over a store.
    pub fn new(store: Arc<dyn Store>, options: EngineOptions) -> Result<Self> {
        let seed = Seed::new(options.environment.hash_seed()?);
        let threads = options.threads.max(1);
        let holder = options.environment.random()?.iter().map(|byte| format!("{byte:02x}")).collect();
        let shared = Arc::new(Shared {
            store,
            environment: options.environment,
            workers: Workers::new(threads),
            committer: Committer::default(),
            definitions: Definitions::default(),
            dictionaries: Dictionaries::default(),
            cache: ColumnCache::new(options.cache_bytes),
            page_cache: options.page_cache.map(Arc::new),
            preloaded: Preloaded::new(options.preload_bytes),
            own_chunks: AtomicI64::new(0),
            turns: Turns::default(),
            chore: OnceLock::new(),
            residents: Residents::new(seed, threads),
            resident_bytes: options.resident_bytes,
            holds: Holds::default(),
            holder,
        });
        let maintenance = if options.maintenance { Some(Arc::new(maintenance::start(&shared)?)) } else { None };
        let preloader = if options.preload_bytes > 0 { Some(Arc::new(preload_thread::start(&shared)?)) } else { None };
        Ok(Self { shared, maintenance, preloader })
    }

    /// An engine without a background thread, for work that the thread itself does.
    pub(crate) fn of(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), maintenance: None, preloader: None }
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// The tables there are, by number.
    pub fn tables(&self) -> Result<Vec<Table>> {
        let mut tables = self.shared.store.snapshot()?.tables()?;
        self.shared.definitions.note(&tables);
        tables.retain(|table| table.definition.logs.is_none());
        Ok(tables)
    }

    /// The table of a name, compared without case.
    pub fn table(&self, name: &str) -> Result<Table> {
        find_table(&self.tables()?, name).cloned()
    }

    /// Creates a table.
    pub fn create_table(&self, definition: &TableDefinition) -> Result<Table> {
        self.shared.store.create_table(definition, None)
    }

    /// Drops a table with all its rows, and gives back what it occupied.
    pub fn drop_table(&self, table: &Table) -> Result<()> {
        self.drop_in_attempts(table)?;
        self.give_back();
        Ok(())
    }

    /// Drops a table, again when its definition changes meanwhile.
    fn drop_in_attempts(&self, table: &Table) -> Result<()> {
        let mut attempt = 1;
        loop {
            let mut batch = self.batch(None);
            batch.drop_table(table)?;
            match batch.commit() {
                Err(error) if error.kind() == ErrorKind::Conflict && attempt < DROP_ATTEMPTS_MAX => attempt += 1,
                done => return done.map(drop),
            }
        }
    }

    /// Gives back what nothing uses any more, for work that is done whether or not that succeeds: what cannot be given
    /// back now, the background thread tries again.
    pub(crate) fn give_back(&self) {
        let _ = self.reclaim();
        self.nudge_maintenance();
    }

    /// A batch: rows of any number of tables that become visible together. With an id, sent twice, it counts once.
    pub fn batch(&self, id: Option<BatchId>) -> Batch {
        Batch::new(self.clone(), id)
    }

    /// An appender to one table.
    pub fn appender(&self, table: &Table) -> Appender {
        Appender::new(self, table)
    }

    /// The present state, for reading.
    pub fn snapshot(&self) -> Result<ReadSnapshot> {
        ReadSnapshot::take(self)
    }

    /// How the cache of decoded columns does.
    pub fn cache_stats(&self) -> CacheStats {
        self.shared.cache.stats()
    }

    /// How the cache of pages on this machine does; `None` where the store has none.
    pub fn page_cache(&self) -> Option<&PageCache> {
        self.shared.page_cache.as_deref()
    }

    /// Tells the thread that preloads when tables declare something else than it knows.
    pub(crate) fn preload_news(&self, tables: &[Table]) {
        if let Some(preloader) = &self.preloader
            && self.shared.preloaded.is_news(tables)
        {
            preloader.nudge();
        }
    }

    /// Gives the background thread work of the layer above, done with each look; the first that is given stays.
    pub fn set_chore(&self, chore: Arc<dyn Chore>) {
        let _ = self.shared.chore.set(chore);
    }

    /// Milliseconds since the Unix epoch, by the engine's clock.
    pub fn now_ms(&self) -> i64 {
        self.shared.environment.now_ms()
    }

    /// Tells the background thread that there may be something to do.
    pub(crate) fn nudge_maintenance(&self) {
        if let Some(maintenance) = &self.maintenance {
            maintenance.nudge();
        }
    }
}

/// The table of a name among some, or an error with the nearest name.
pub(crate) fn find_table<'a>(tables: &'a [Table], name: &str) -> Result<&'a Table> {
    tables
        .iter()
        .find(|table| same_name(&table.definition.name, name))
        .ok_or_else(|| unknown_name("table", name, tables.iter().map(|table| table.definition.name.as_str())))
}
