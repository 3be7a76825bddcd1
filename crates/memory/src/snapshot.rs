//! Snapshots: references to the view of one moment. `chunk_write` writes chunks.

use crate::mapping;
use crate::state::{StoredTable, View};
use atsdb_core::refusal;
use atsdb_core::{ChunkEntry, ChunkId, ColumnId, Counter, Result, Snapshot, Table, TableId, TimeRange};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The store, or a stage, when the reference was taken.
#[derive(Debug)]
pub(crate) struct MemorySnapshot {
    view: Arc<View>,
    // The tables to list; `None` for all tables of the view.
    listed: Option<BTreeSet<TableId>>,
}

impl MemorySnapshot {
    pub(crate) fn new(view: Arc<View>) -> Self {
        Self { view, listed: None }
    }

    /// A snapshot that lists only some of the view's tables.
    pub(crate) fn of_tables(view: View, listed: BTreeSet<TableId>) -> Self {
        Self { view: Arc::new(view), listed: Some(listed) }
    }
}

impl Snapshot for MemorySnapshot {
    fn tables(&self) -> Result<Vec<Table>> {
        let is_listed = |id: &TableId| self.listed.as_ref().is_none_or(|listed| listed.contains(id));
        let tables = self.view.tables.iter().filter(|(id, _)| is_listed(id));
        let table = |(id, stored): (&TableId, &Arc<StoredTable>)| Table {
            id: *id,
            version: stored.version,
            definition: stored.definition.clone(),
        };
        Ok(tables.map(table).collect())
    }

    fn chunks(&self, table: TableId, range: TimeRange) -> Result<Vec<ChunkEntry>> {
        let Some(stored) = self.view.tables.get(&table) else { return Ok(Vec::new()) };
        let entries = stored.chunks.values().map(|chunk| &chunk.entry);
        Ok(entries.filter(|entry| range.overlaps(entry.time_min, entry.time_max)).cloned().collect())
    }

    fn newest_chunk(&self) -> Result<ChunkId> {
        Ok(self.view.chunks.last_key_value().map_or(ChunkId(0), |(id, _)| *id))
    }

    fn mapping(&self, table: TableId, column: ColumnId, first: u32) -> Result<Vec<Vec<u8>>> {
        let stored = self.view.tables.get(&table);
        Ok(stored.map_or_else(Vec::new, |stored| mapping::read(&stored.dictionaries, column, first)))
    }

    fn counter(&self, table: TableId, column: ColumnId) -> Result<Option<Counter>> {
        Ok(self.view.tables.get(&table).and_then(|stored| stored.counters.read().get(&column).copied()))
    }

    fn read_pages(&self, chunk: ChunkId, columns: &[ColumnId]) -> Result<Vec<Vec<u8>>> {
        let stored = self.view.chunks.get(&chunk).ok_or_else(|| refusal::chunk_missing(chunk))?;
        let page = |column: &ColumnId| {
            let found = stored.pages.iter().find(|(name, _)| name == column).map(|(_, bytes)| bytes.to_vec());
            found.ok_or_else(|| refusal::page_missing(chunk, *column))
        };
        columns.iter().map(page).collect()
    }
}
