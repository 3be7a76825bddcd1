//! What everything that works on one store shares: the store itself, the caches, the clock, and who waits for whom.
//!
//! This room lies at the bottom, above [`chunk`](crate::chunk) alone: it knows neither how rows are read nor how they are
//! written.

pub(crate) mod background;
pub(crate) mod cache;
pub(crate) mod commit;
pub(crate) mod definitions;
pub(crate) mod dictionary;
pub(crate) mod environment;
pub(crate) mod handle;
pub(crate) mod hold;
pub(crate) mod holds;
pub(crate) mod origin;
pub(crate) mod preload;
mod preload_chunk;
mod sent;
pub(crate) mod turns;
pub(crate) mod workers;

use crate::shared::background::Nudges;
use crate::shared::cache::ColumnCache;
use crate::shared::commit::{Committer, Refused, check_based_on};
use crate::shared::definitions::Definitions;
use crate::shared::dictionary::Dictionaries;
use crate::shared::environment::Environment;
use crate::shared::holds::Holds;
use crate::shared::preload::Preloaded;
use crate::shared::turns::Turns;
use crate::shared::workers::Workers;
use atsdb_core::{Change, CommitOutcome, Result, Store, Table, TableDefinition, TableId};
use atsdb_pagecache::PageCache;
use atsdb_resident::{ResidentSnapshot, ResidentTables};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// How much is given back in one step.
const RECLAIM_STEP_BYTES: u64 = 8 << 20;

/// What all clones of an engine, and the threads that work for them, share.
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
    /// Which batch may commit rows with keys next.
    pub(crate) turns: Turns,
    /// Tables whose rows live in this process.
    pub(crate) residents: ResidentTables,
    pub(crate) resident_bytes: usize,
    /// Transactions whose chunks are not to be sealed.
    pub(crate) holds: Holds,
    /// The name under which leases are held.
    pub(crate) holder: String,
    /// Wakes the thread that maintains the store, if there is one.
    pub(crate) maintenance: Arc<Nudges>,
    /// Wakes the thread that preloads, if there is one.
    pub(crate) preloading: Arc<Nudges>,
}

impl Shared {
    /// Commits a change of tables that exist, or that it creates. The change names the definitions that it was made under.
    pub(crate) fn commit(&self, change: Change, created: &[Table]) -> Result<CommitOutcome, Refused> {
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

    /// Gives back what nothing uses any more.
    pub(crate) fn reclaim(&self) -> Result<()> {
        while self.reclaim_step()? {}
        Ok(())
    }

    /// One step of giving space back; whether there is more.
    pub(crate) fn reclaim_step(&self) -> Result<bool> {
        Ok(self.store.reclaim(RECLAIM_STEP_BYTES, self.environment.now_ms())?.more)
    }

    /// Gives back what nothing uses any more, for work that is done whether or not that succeeds: the background thread
    /// tries again what cannot be given back now.
    pub(crate) fn give_back(&self) {
        let _ = self.reclaim();
        self.maintenance.nudge();
    }

    /// Wakes the thread that preloads if tables declare something that it does not know.
    pub(crate) fn note_tables(&self, tables: &[Table]) {
        self.definitions.note(tables);
        if self.preloaded.is_news(tables) {
            self.preloading.nudge();
        }
    }

    /// The most bytes that a table in memory may take beside the others.
    pub(crate) fn resident_bytes_of(&self, residents: &ResidentSnapshot, table: &Table) -> usize {
        let others = residents.byte_count() - residents.get(table.id).map_or(0, |state| state.byte_count());
        let left = self.resident_bytes.saturating_sub(others);
        let own = table.definition.memory.and_then(|memory| memory.bytes_max);
        own.map_or(left, |own| left.min(usize::try_from(own).unwrap_or(usize::MAX)))
    }

    /// The earliest time of a table that is preloaded; `None` when nothing of it is.
    pub(crate) fn preloaded_from(&self, definition: &TableDefinition) -> Option<i64> {
        let preload = definition.preload.filter(|_| self.preloaded.is_on())?;
        Some(preload.cutoff(self.environment.now_ms(), definition.time?.unit))
    }
}
