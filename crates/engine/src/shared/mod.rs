//! The state that all users of one store share: the store itself, caches, dictionaries, the clock, locks and threads.
//!
//! This room imports only [`chunk`](crate::chunk): it is independent of how rows are read and written.

pub(crate) mod background;
pub(crate) mod cache;
pub(crate) mod commit;
pub(crate) mod commit_locks;
pub(crate) mod definitions;
pub(crate) mod dictionary;
mod duplicate;
pub(crate) mod environment;
pub(crate) mod greatest_keys;
pub(crate) mod handle;
pub(crate) mod hold;
pub(crate) mod holds;
pub(crate) mod interner;
pub(crate) mod listed_tables;
pub(crate) mod machine;
pub(crate) mod numbers;
pub(crate) mod origin;
pub(crate) mod preload;
mod preload_chunk;
pub(crate) mod row_checks;
pub(crate) mod session_numbers;
pub(crate) mod temporary;
pub(crate) mod workers;

use crate::shared::background::Wakeups;
use crate::shared::cache::ColumnCache;
use crate::shared::commit::{Committer, RefusedChange, check_based_on};
use crate::shared::commit_locks::CommitLocks;
use crate::shared::definitions::Definitions;
use crate::shared::dictionary::Dictionaries;
use crate::shared::environment::Environment;
use crate::shared::greatest_keys::GreatestKeys;
use crate::shared::holds::Holds;
use crate::shared::listed_tables::LastListedTables;
use crate::shared::numbers::Numbers;
use crate::shared::preload::Preloaded;
use crate::shared::row_checks::RowChecks;
use crate::shared::workers::Workers;
use atsdb_core::{Change, CommitOutcome, Result, Store, Table, TableDefinition, TableId};
use atsdb_pagecache::PageCache;
use atsdb_resident::{ResidentSnapshot, ResidentTables};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The number of bytes that one step of reclaiming frees.
const RECLAIM_STEP_BYTES: u64 = 8 << 20;

/// The state shared by all clones of an engine and its threads.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) workers: Workers,
    pub(crate) committer: Committer,
    pub(crate) definitions: Definitions,
    pub(crate) listed: LastListedTables,
    pub(crate) dictionaries: Dictionaries,
    /// The numbers that this process has reserved for identity columns.
    pub(crate) numbers: Numbers,
    pub(crate) cache: ColumnCache,
    pub(crate) page_cache: Option<Arc<PageCache>>,
    pub(crate) preloaded: Preloaded,
    /// The conditions of CHECK constraints.
    pub(crate) row_checks: RowChecks,
    /// The last number assigned to a chunk in a batch's memory.
    pub(crate) own_chunks: AtomicI64,
    /// Serialises commits of rows with keys.
    pub(crate) commit_locks: CommitLocks,
    pub(crate) greatest_keys: GreatestKeys,
    /// Tables whose rows are in the memory of this process.
    pub(crate) residents: ResidentTables,
    pub(crate) resident_bytes: usize,
    /// Open transactions, which pause sealing.
    pub(crate) holds: Holds,
    /// The name of this engine as the holder of leases.
    pub(crate) holder: String,
    /// Wakes the maintenance thread, if there is one.
    pub(crate) maintenance: Arc<Wakeups>,
    /// Wakes the preloading thread, if there is one.
    pub(crate) preloading: Arc<Wakeups>,
}

impl Shared {
    /// Commits a change of existing tables and of the tables that it creates. The change must name the definitions that
    /// it was made under.
    pub(crate) fn commit(&self, change: Change, created: &[Table]) -> Result<CommitOutcome, RefusedChange> {
        if let Err(error) = check_based_on(&change, created) {
            return Err(RefusedChange { error, change: Box::new(change) });
        }
        self.committer.commit(self.store.as_ref(), change, self.environment.now_ms())
    }

    /// Commits several changes of existing tables at once. Each is applied or refused separately.
    pub(crate) fn commit_together(&self, changes: Vec<Change>) -> Vec<Result<CommitOutcome, RefusedChange>> {
        if let Some(error) = changes.iter().find_map(|change| check_based_on(change, &[]).err()) {
            let refused = |change| Err(RefusedChange { error: error.duplicate(), change: Box::new(change) });
            return changes.into_iter().map(refused).collect();
        }
        self.committer.commit_together(self.store.as_ref(), changes, self.environment.now_ms())
    }

    /// Forgets a table that was dropped.
    pub(crate) fn forget(&self, table: TableId) {
        self.definitions.forget(table);
        self.dictionaries.forget(table);
        self.numbers.forget(table);
        self.row_checks.forget(table);
        self.greatest_keys.forget(table);
    }

    /// A number for a chunk in a batch's memory: below zero, and never reused.
    pub(crate) fn next_own_chunk(&self) -> i64 {
        self.own_chunks.fetch_sub(1, Ordering::Relaxed) - 1
    }

    /// Frees all unused space.
    pub(crate) fn reclaim(&self) -> Result<()> {
        while self.reclaim_step()? {}
        Ok(())
    }

    /// Frees space in one step. Returns whether there is more.
    pub(crate) fn reclaim_step(&self) -> Result<bool> {
        Ok(self.store.reclaim(RECLAIM_STEP_BYTES, self.environment.now_ms())?.more)
    }

    /// Frees space in one step, except for what writers will soon need. Returns whether there is more.
    pub(crate) fn reclaim_step_beside_writers(&self) -> Result<bool> {
        Ok(self.store.reclaim_beside_writers(RECLAIM_STEP_BYTES, self.environment.now_ms())?.more)
    }

    /// Frees all unused space, and ignores failures: background maintenance retries.
    pub(crate) fn give_back(&self) {
        let _ = self.reclaim();
        self.maintenance.wake();
    }

    /// Notes the tables of a snapshot, and wakes the preloading thread if their declarations have changed.
    pub(crate) fn note_tables(&self, tables: &[Table]) {
        self.definitions.note(tables);
        if self.preloaded.has_changed(tables) {
            self.preloading.wake();
        }
    }

    /// The maximum size in bytes of a table in memory, given the sizes of the others.
    pub(crate) fn resident_bytes_of(&self, residents: &ResidentSnapshot, table: &Table) -> usize {
        let others = residents.byte_count() - residents.get(table.id).map_or(0, |state| state.byte_count());
        let left = self.resident_bytes.saturating_sub(others);
        let own = table.definition.memory.and_then(|memory| memory.bytes_max);
        own.map_or(left, |own| left.min(usize::try_from(own).unwrap_or(usize::MAX)))
    }

    /// The earliest time of a table that is preloaded. `None` if the table is not preloaded.
    pub(crate) fn preloaded_from(&self, definition: &TableDefinition) -> Option<i64> {
        let preload = definition.preload.filter(|_| self.preloaded.is_on())?;
        Some(preload.cutoff(self.environment.now_ms(), definition.time?.unit))
    }
}
