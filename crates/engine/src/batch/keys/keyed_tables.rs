//! The rows of a batch's tables with keys.

use crate::batch::keys::keyed_rows::KeyedRows;
use atsdb_core::{ConflictPolicy, Table, TableId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The rows of a batch's tables with keys.
#[derive(Default)]
pub(crate) struct KeyedTables {
    pub(crate) tables: BTreeMap<TableId, (Table, KeyedRows)>,
    /// Tables in which the batch has chunks with rows that the series clocks have not seen.
    pub(crate) rewritten: BTreeSet<TableId>,
    /// Tables in which a conflict policy was applied: what became of the batch's rows depends on the keys that the
    /// batch has seen.
    pub(crate) decided: BTreeSet<TableId>,
    /// Whether a row whose key another writer has added is reported as a duplicate. Otherwise it is a conflict, after
    /// which the caller repeats the batch.
    pub(crate) names_duplicates: bool,
    /// Rows skipped because their key existed.
    pub(crate) skipped_rows: Arc<AtomicU64>,
    /// Rows of tables in chunks that took the place of another row with their key, stored or of the batch.
    pub(crate) replaced_rows: Arc<AtomicU64>,
    /// The number of skipped rows of tables in memory.
    pub(crate) skipped_in_memory: u64,
}

impl KeyedTables {
    /// Discards the waiting rows of a table, and what is known of its other rows.
    pub(crate) fn forget(&mut self, table: TableId) {
        self.tables.remove(&table);
        self.note_rewritten(table);
    }

    /// Discards all waiting rows, and what is known of those that were settled.
    pub(crate) fn forget_all(&mut self) {
        self.rewritten.extend(self.tables.keys());
        self.tables.clear();
    }

    /// Notes that the batch changes chunks of a table.
    pub(crate) fn note_rewritten(&mut self, table: TableId) {
        self.rewritten.insert(table);
    }

    /// Notes that a conflict policy is applied to rows of a table.
    pub(crate) fn note_policy(&mut self, table: TableId, policy: ConflictPolicy) {
        if policy != ConflictPolicy::Error {
            self.decided.insert(table);
        }
    }

    /// Whether a row of the table whose key another writer has added is a duplicate, not a conflict.
    pub(crate) fn names_duplicates_of(&self, table: TableId) -> bool {
        self.names_duplicates && !self.decided.contains(&table)
    }

    /// Whether rows of a table wait.
    pub(crate) fn has_waiting(&self, table: TableId) -> bool {
        self.tables.get(&table).is_some_and(|(_, rows)| rows.policy().is_some())
    }

    /// The tables in which rows wait.
    pub(crate) fn waiting(&self) -> Vec<TableId> {
        self.tables.iter().filter(|(_, (_, rows))| rows.policy().is_some()).map(|(table, _)| *table).collect()
    }
}
