//! Metadata of the store behind a snapshot: chunks, descriptors, dictionaries, sizes. No page is read.

use crate::read::snapshot::ReadSnapshot;
use crate::shared::origin::is_unchanged_copy;
use crate::shared::temporary::is_temporary;
use atsdb_core::{ChunkDescriptor, ChunkEntry, Column, Result, Table, TableId, TimeRange};
use std::collections::HashMap;
use std::sync::Arc;

impl ReadSnapshot {
    /// A table's chunks, ordered by slice, then by number.
    pub fn chunks(&self, table: &Table) -> Result<Vec<ChunkEntry>> {
        match is_temporary(table.id) {
            true => Ok(Vec::new()),
            false => self.inner.store.chunks(table.id, TimeRange::ALL),
        }
    }

    /// Returns whether a table is an unchanged copy of another store's table. Sealing, retention and refreshing rollups
    /// are then left to that store.
    pub fn is_unchanged_copy(&self, table: &Table) -> Result<bool> {
        is_unchanged_copy(self.inner.store.as_ref(), table)
    }

    /// The descriptor of a chunk, checked against the store's list.
    pub fn descriptor(&self, table: &Table, entry: &ChunkEntry) -> Result<Arc<ChunkDescriptor>> {
        self.inner.descriptor(table, entry)
    }

    /// The strings of a mapped column, in order of index from 0 on. Strings added after the snapshot may follow.
    pub fn mapping(&self, table: &Table, column: &Column) -> Result<Vec<Vec<u8>>> {
        self.inner.store.mapping(table.id, column.id, 0)
    }

    /// The size of each table in bytes: its own data, and its share of what belongs to no single table (indexes,
    /// unfilled space). It is the present size, which may be that of a later state than the snapshot.
    pub fn table_bytes(&self) -> Result<HashMap<TableId, u64>> {
        let size = self.inner.shared.store.size()?;
        let own: HashMap<TableId, u64> = size.tables.iter().copied().collect();
        let own_total: u64 = own.values().sum();
        let share = |table: &Table| match own_total {
            0 => size.total / self.inner.tables.len().max(1) as u64,
            total => {
                let own = own.get(&table.id).copied().unwrap_or(0);
                (u128::from(size.total) * u128::from(own) / u128::from(total)) as u64
            }
        };
        Ok(self.inner.tables.iter().map(|table| (table.id, share(table))).collect())
    }
}
