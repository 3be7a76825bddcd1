//! The rows of a batch's tables with keys.

use crate::batch::keys::keyed_rows::{KeyedRows, WaitingRows};
use arrow::array::RecordBatch;
use atsdb_core::{ConflictPolicy, Result, Table, TableId};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The rows of a batch's tables with keys, and what became of those that were settled.
#[derive(Default)]
pub(crate) struct KeyedTables {
    tables: BTreeMap<TableId, (Table, KeyedRows)>,
    /// Tables in which the batch has chunks with rows that the series clocks have not seen.
    rewritten: BTreeSet<TableId>,
    /// Tables in which a conflict policy was applied: what became of the batch's rows depends on the keys that the
    /// batch has seen.
    decided: BTreeSet<TableId>,
    /// Whether a row whose key another writer has added is reported as a duplicate. Otherwise it is a conflict, after
    /// which the caller repeats the batch.
    names_duplicates: bool,
    /// Rows skipped because their key existed.
    skipped_rows: Arc<AtomicU64>,
    /// Rows of tables in chunks that took the place of another row with their key, stored or of the batch.
    replaced_rows: Arc<AtomicU64>,
    /// The number of skipped rows of tables in memory.
    skipped_in_memory: u64,
}

/// A copy of the rows that wait, and of the counts, with which a refused commit can be attempted again.
pub(crate) struct HeldRows {
    tables: Vec<(TableId, WaitingRows, bool)>,
    skipped_rows: u64,
    replaced_rows: u64,
}

impl KeyedTables {
    /// Adds rows of a table to those that wait. All of these have one policy: see [`policy`](Self::policy).
    pub(crate) fn push(&mut self, table: &Table, rows: RecordBatch, policy: ConflictPolicy) -> Result<()> {
        let (_, keyed) = match self.tables.entry(table.id) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert((table.clone(), KeyedRows::new(&table.definition)?)),
        };
        keyed.push(rows, policy);
        Ok(())
    }

    /// The policy of the rows of a table that wait, if any do.
    pub(crate) fn policy(&self, table: TableId) -> Option<ConflictPolicy> {
        self.tables.get(&table).and_then(|(_, rows)| rows.policy())
    }

    /// Bytes of the rows that wait.
    pub(crate) fn byte_count(&self) -> usize {
        self.tables.values().map(|(_, rows)| rows.byte_count()).sum()
    }

    /// Takes a table and its rows out, to settle the rows; `None` if there are none.
    pub(crate) fn take(&mut self, table: TableId) -> Option<(Table, KeyedRows)> {
        self.tables.remove(&table)
    }

    /// Puts a table and its rows back.
    pub(crate) fn put_back(&mut self, table: Table, rows: KeyedRows) {
        self.tables.insert(table.id, (table, rows));
    }

    /// A copy of all rows that wait.
    pub(crate) fn hold(&self) -> HeldRows {
        HeldRows {
            tables: self.waiting().into_iter().filter_map(|id| self.tables.get(&id)?.1.held(id)).collect(),
            skipped_rows: self.skipped_rows.load(Ordering::Relaxed),
            replaced_rows: self.replaced_rows.load(Ordering::Relaxed),
        }
    }

    /// Makes rows wait again that were held. Everything that was noted of them since is forgotten.
    pub(crate) fn restore(&mut self, held: &HeldRows) {
        self.rewritten.clear();
        self.skipped_rows.store(held.skipped_rows, Ordering::Relaxed);
        self.replaced_rows.store(held.replaced_rows, Ordering::Relaxed);
        for (table, waiting, grows) in &held.tables {
            if let Some((_, keyed)) = self.tables.get_mut(table) {
                keyed.put_back(waiting.clone(), *grows);
            }
        }
    }

    /// The number of skipped rows. It changes while rows are settled.
    pub(crate) fn skipped_rows(&self) -> &Arc<AtomicU64> {
        &self.skipped_rows
    }

    /// The number of replaced rows. It changes while rows are settled.
    pub(crate) fn replaced_rows(&self) -> &Arc<AtomicU64> {
        &self.replaced_rows
    }

    /// Counts rows that were settled.
    pub(crate) fn count(&self, skipped_rows: u64, replaced_rows: u64) {
        self.skipped_rows.fetch_add(skipped_rows, Ordering::Relaxed);
        self.replaced_rows.fetch_add(replaced_rows, Ordering::Relaxed);
    }

    /// Counts the skipped rows of tables in memory, given as their total so far.
    pub(crate) fn count_skipped_in_memory(&mut self, total: u64) {
        let more = total.saturating_sub(self.skipped_in_memory);
        self.skipped_in_memory += more;
        self.count(more, 0);
    }

    /// Returns whether the batch has chunks of a table with rows that the series clocks have not seen.
    pub(crate) fn has_rewritten(&self, table: TableId) -> bool {
        self.rewritten.contains(&table)
    }

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
            self.note_decided(table);
        }
    }

    /// Notes that what becomes of rows of a table depends on the keys that the batch has seen.
    pub(crate) fn note_decided(&mut self, table: TableId) {
        self.decided.insert(table);
    }

    /// Makes a row whose key another writer has added a duplicate, not a conflict.
    pub(crate) fn name_duplicates(&mut self) {
        self.names_duplicates = true;
    }

    /// Returns whether rows of other writers that break a rule are reported as such, and not as a conflict.
    pub(crate) fn names_duplicates(&self) -> bool {
        self.names_duplicates
    }

    /// Returns whether a row of the table whose key another writer has added is a duplicate, not a conflict.
    pub(crate) fn names_duplicates_of(&self, table: TableId) -> bool {
        self.names_duplicates && !self.decided.contains(&table)
    }

    /// Returns whether rows of a table wait.
    pub(crate) fn has_waiting(&self, table: TableId) -> bool {
        self.policy(table).is_some()
    }

    /// The tables in which rows wait.
    pub(crate) fn waiting(&self) -> Vec<TableId> {
        self.tables.iter().filter(|(_, (_, rows))| rows.policy().is_some()).map(|(table, _)| *table).collect()
    }
}
