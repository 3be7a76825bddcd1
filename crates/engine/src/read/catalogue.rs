//! What a catalogue tells of the store behind a snapshot: chunks, descriptors, dictionaries, bytes. No pages are read.

use crate::read::snapshot::ReadSnapshot;
use crate::shared::origin::is_unchanged_copy;
use atsdb_core::{ChunkDescriptor, ChunkEntry, Column, Result, Table, TableId, TimeRange};
use std::collections::HashMap;

impl ReadSnapshot {
    /// A table's chunks, by slice, then by number.
    pub fn chunks(&self, table: &Table) -> Result<Vec<ChunkEntry>> {
        self.inner.store.chunks(table.id, TimeRange::ALL)
    }

    /// Whether a table is a copy of another store's that nobody has changed since: it is left to that store to seal it, to
    /// let rows expire and to compute rollups.
    pub fn is_unchanged_copy(&self, table: &Table) -> Result<bool> {
        is_unchanged_copy(self.inner.store.as_ref(), table)
    }

    /// What is known of a chunk, checked.
    pub fn descriptor(&self, table: &Table, entry: &ChunkEntry) -> Result<ChunkDescriptor> {
        self.inner.descriptor(table, entry)
    }

    /// The strings of a mapped column, by index from 0 on. Strings may follow that were added later than the snapshot.
    pub fn mapping(&self, table: &Table, column: &Column) -> Result<Vec<Vec<u8>>> {
        self.inner.store.mapping(table.id, column.id, 0)
    }

    /// What each table occupies now, which may be later than the snapshot, in bytes: what is its own, and its share of
    /// what is everybody's (indexes, unfilled space).
    pub fn table_bytes(&self) -> Result<HashMap<TableId, u64>> {
        let size = self.inner.shared.store.size()?;
        let own: HashMap<TableId, u64> = size.tables.iter().copied().collect();
        let own_total: u64 = own.values().sum();
        let share = |table: &Table| match own_total {
            0 => size.total / self.tables().len().max(1) as u64,
            total => {
                let own = own.get(&table.id).copied().unwrap_or(0);
                (u128::from(size.total) * u128::from(own) / u128::from(total)) as u64
            }
        };
        Ok(self.tables().iter().map(|table| (table.id, share(table))).collect())
    }
}
