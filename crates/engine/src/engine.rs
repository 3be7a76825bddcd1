//! The engine: a store with what works on it, shared by everybody in the process.

use crate::batch::Batch;
use crate::batch::appender::Appender;
use crate::copy;
use crate::copy::cut::{Cut, Selection};
use crate::copy::options::{CopyOptions, CopyReport};
use crate::inspect::caches::{self, CacheFigures};
use crate::inspect::content_hash::ContentHash;
use crate::inspect::stats::{SliceStats, TableStats};
use crate::inspect::verify::{self, VerifyReport};
use crate::read::snapshot::{ReadSnapshot, find_table};
use crate::shared::Shared;
use crate::shared::cache::{CacheStats, ColumnCache};
use crate::shared::commit::Committer;
use crate::shared::definitions::Definitions;
use crate::shared::dictionary::Dictionaries;
use crate::shared::environment::{Environment, SystemEnvironment};
use crate::shared::handle::Handle;
use crate::shared::hold::Hold;
use crate::shared::holds::Holds;
use crate::shared::preload::{PreloadStats, Preloaded};
use crate::shared::turns::Turns;
use crate::shared::workers::Workers;
use crate::upkeep::build_index::{self, BuildReport};
use crate::upkeep::maintenance::{self, Caretaker, MoreWork};
use crate::upkeep::preloading;
use crate::upkeep::resident_save;
use crate::upkeep::retain::{self, RetainReport};
use crate::upkeep::seal::{self, SealReport};
use atsdb_core::{BatchId, ErrorKind, Index, Result, Store, Table, TableDefinition};
use atsdb_pagecache::PageCache;
use atsdb_resident::{Residents, Seed};
use std::fmt;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What is assumed where the operating system does not say how much memory there is.
const MEMORY_BYTES_ASSUMED: usize = 4 << 30;
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

/// Work of the layer above that the thread does while it holds the lease: whoever sees a store without that layer leaves
/// it to those who have it.
pub trait Chore: Send + Sync {
    /// One look at everything; whether another should follow soon. `go_on` says between two steps whether the lease is
    /// still held and the engine in use.
    fn look(&self, engine: &Engine, go_on: &dyn Fn() -> bool) -> Result<bool>;
}

/// A store and what works on it. Cloning it is cheap; all clones are the same engine. The background threads end when the last
/// clone, batch and appender is dropped.
#[derive(Clone)]
pub struct Engine {
    handle: Handle,
    chore: Arc<OnceLock<Arc<dyn Chore>>>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("store", &self.shared().store.url()).finish_non_exhaustive()
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
            residents: Residents::new(seed, threads),
            resident_bytes: options.resident_bytes,
            holds: Holds::default(),
            holder,
            maintenance: Arc::default(),
            preloading: Arc::default(),
        });
        let chore = Arc::<OnceLock<Arc<dyn Chore>>>::default();
        let mut threads = Vec::with_capacity(2);
        if options.maintenance {
            threads.push(maintenance::start(&shared, more_work(&chore))?);
        }
        if options.preload_bytes > 0 {
            threads.push(preloading::start(&shared)?);
        }
        Ok(Self { handle: Handle::new(shared, threads), chore })
    }

    /// What the engine's clones, batches and snapshots share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared().store
    }

    /// The tables there are, by number.
    pub fn tables(&self) -> Result<Vec<Table>> {
        let mut tables = self.shared().store.snapshot()?.tables()?;
        self.shared().definitions.note(&tables);
        tables.retain(|table| table.definition.logs.is_none());
        Ok(tables)
    }

    /// The table of a name, compared without case.
    pub fn table(&self, name: &str) -> Result<Table> {
        find_table(&self.tables()?, name).cloned()
    }

    /// Creates a table.
    pub fn create_table(&self, definition: &TableDefinition) -> Result<Table> {
        self.shared().store.create_table(definition, None)
    }

    /// Drops a table with all its rows, and gives back what it occupied.
    pub fn drop_table(&self, table: &Table) -> Result<()> {
        self.drop_in_attempts(table)?;
        self.shared().give_back();
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

    /// A batch: rows of any number of tables that become visible together. With an id, sent twice, it counts once.
    pub fn batch(&self, id: Option<BatchId>) -> Batch {
        Batch::new(self.handle.clone(), id)
    }

    /// An appender to one table.
    pub fn appender(&self, table: &Table) -> Appender {
        Appender::new(&self.handle, table)
    }

    /// The present state, for reading.
    pub fn snapshot(&self) -> Result<ReadSnapshot> {
        ReadSnapshot::take(self.shared())
    }

    /// How the cache of decoded columns does.
    pub fn cache_stats(&self) -> CacheStats {
        self.shared().cache.stats()
    }

    /// How the cache of pages on this machine does; `None` where the store has none.
    pub fn page_cache(&self) -> Option<&PageCache> {
        self.shared().page_cache.as_deref()
    }

    /// Gives the background thread work of the layer above, done with each look; the first that is given stays.
    pub fn set_chore(&self, chore: Arc<dyn Chore>) {
        let _ = self.chore.set(chore);
    }

    /// The work of the background thread, for a caller that has switched the thread off and decides when it is done.
    pub fn caretaker(&self) -> Caretaker {
        Caretaker::new(self.shared(), more_work(&self.chore))
    }

    /// Milliseconds since the Unix epoch, by the engine's clock.
    pub fn now_ms(&self) -> i64 {
        self.shared().environment.now_ms()
    }

    /// The time since some moment, by the engine's clock that nobody sets: for how long something has lasted.
    pub fn uptime(&self) -> Duration {
        self.shared().environment.uptime()
    }

    /// Keeps sealing in the background away, for a transaction that begins.
    pub fn hold(&self) -> Hold {
        Hold::new(self.shared())
    }

    /// Seals every slice of one table, or of all, that has fresh chunks, and gives the space back. Chunks of another
    /// slice width than the table's are cut anew before. A damaged slice is left as it is, and reported when the others are
    /// sealed.
    pub fn recompress(&self, table: Option<&Table>) -> Result<SealReport> {
        seal::recompress(self.shared(), table)
    }

    /// Drops the expired slices of one table or of all, and gives their space back.
    pub fn retain(&self, table: Option<&Table>) -> Result<RetainReport> {
        retain::retain(self.shared(), table)
    }

    /// Gives every chunk of the table that has no page of the index one. The index is in the table's definition already,
    /// so that chunks that come meanwhile bring theirs. What another process builds, or an earlier call that did not
    /// come to its end built, is not built again. A table or an index that is gone is
    /// [`NotFound`](ErrorKind::NotFound). Damaged chunks are left without, and reported when the others have theirs.
    pub fn build_index(&self, table: &Table, index: &Index) -> Result<BuildReport> {
        build_index::build_index(self.shared(), table, index)
    }

    /// Saves the rows of tables in memory, all of them or none: they take the place of those that were saved before,
    /// and every process that uses a table for the first time begins with them. Of a table that this process has not
    /// used nothing is to be saved. Says how many rows were saved.
    pub fn save_resident(&self, tables: &[Table]) -> Result<u64> {
        resident_save::save_resident(&self.handle, tables)
    }

    /// Loads what tables declare by `preload`, now, and says how much that is. The thread does the same by itself.
    pub fn preload(&self) -> Result<PreloadStats> {
        preloading::preload(self.shared())?;
        Ok(self.preload_stats())
    }

    /// How preloading does.
    pub fn preload_stats(&self) -> PreloadStats {
        self.shared().preloaded.stats()
    }

    /// All caches that the store has here, in the order in which a read asks them. Hits and misses are this process's; of
    /// pages, those of all processes that ever read the store here.
    pub fn caches(&self) -> Vec<CacheFigures> {
        caches::caches(self.shared())
    }

    /// Figures of one table, or of all.
    pub fn stats(&self, table: Option<&Table>) -> Result<Vec<TableStats>> {
        self.snapshot()?.stats(table)
    }

    /// Figures of a table's slices, earliest first.
    pub fn slices(&self, table: &Table) -> Result<Vec<SliceStats>> {
        self.snapshot()?.slices(table)
    }

    /// The content hashes of one table, or of all, by name.
    pub fn content_hashes(&self, table: Option<&Table>) -> Result<Vec<ContentHash>> {
        self.snapshot()?.content_hashes(table)
    }

    /// Checks the store's structures, and every page of one table or of all. Damage is found, not an error.
    pub fn verify(&self, table: Option<&Table>) -> Result<VerifyReport> {
        verify::verify(self.shared(), table)
    }

    /// What a copy of the store would hold now.
    pub fn cut(&self, selection: &Selection) -> Result<Cut> {
        Cut::of(&self.snapshot()?, selection)
    }

    /// Makes the store hold what a cut does. What the process keeps of tables that went is forgotten.
    pub fn copy_from(&self, cut: &Cut, options: &CopyOptions) -> Result<CopyReport> {
        copy::copy_from(self.shared(), cut, options)
    }
}

/// The chore, if there is one by then, as the maintenance thread calls it. The thread keeps no engine alive.
fn more_work(chore: &Arc<OnceLock<Arc<dyn Chore>>>) -> MoreWork {
    let chore = Arc::clone(chore);
    Box::new(move |shared, go_on| {
        let Some(work) = chore.get() else { return Ok(false) };
        work.look(&Engine { handle: Handle::without_threads(shared), chore: Arc::clone(&chore) }, go_on)
    })
}

/// Half of the machine's memory.
fn half_of_memory() -> usize {
    let told = std::fs::read_to_string("/proc/meminfo").ok();
    let kibibytes = told.as_deref().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.split_whitespace().next()?.parse::<usize>().ok()
    });
    kibibytes.map_or(MEMORY_BYTES_ASSUMED, |kibibytes| kibibytes << 10) / 2
}
