//! Snapshots: references to the view of one moment. `chunk_write` writes chunks.

use crate::mapping;
use crate::state::{Counters, StoreState, StoredTable, View};
use atsdb_core::name::same_name;
use atsdb_core::refusal;
use atsdb_core::{ChunkEntry, ChunkId, ColumnId, Counter, Result, Snapshot, Table, TableId, TimeRange};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The store, or a stage, when the reference was taken.
#[derive(Debug)]
pub(crate) struct MemorySnapshot {
    view: Arc<View>,
    // The tables to list; `None` for all tables of the view.
    listed: Option<BTreeSet<TableId>>,
    /// The counters of tables that are not in the view, but in a stage.
    staged_counters: BTreeMap<TableId, Counters>,
}

impl MemorySnapshot {
    /// A snapshot of what is visible.
    pub(crate) fn new(state: &StoreState) -> Self {
        let staged = state.stages.values().flat_map(|stage| &stage.tables);
        let staged_counters = staged.map(|(id, stored)| (*id, Arc::clone(&stored.counters))).collect();
        Self { view: Arc::clone(&state.view), listed: None, staged_counters }
    }

    /// A snapshot that lists only some of the view's tables.
    pub(crate) fn of_tables(view: View, listed: BTreeSet<TableId>) -> Self {
        Self { view: Arc::new(view), listed: Some(listed), staged_counters: BTreeMap::new() }
    }

    fn listed(&self) -> impl Iterator<Item = (&TableId, &Arc<StoredTable>)> {
        let listed = self.listed.as_ref();
        self.view.tables.iter().filter(move |(id, _)| listed.is_none_or(|listed| listed.contains(*id)))
    }
}

fn table_of((id, stored): (&TableId, &Arc<StoredTable>)) -> Table {
    Table { id: *id, version: stored.version, definition: stored.definition.clone() }
}

impl Snapshot for MemorySnapshot {
    fn tables(&self) -> Result<Vec<Table>> {
        Ok(self.listed().map(table_of).collect())
    }

    fn table_named(&self, name: &str) -> Result<Option<Table>> {
        Ok(self.listed().find(|(_, stored)| same_name(&stored.definition.name, name)).map(table_of))
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
        let visible = self.view.tables.get(&table).map(|stored| &stored.counters);
        let counters = visible.or_else(|| self.staged_counters.get(&table));
        Ok(counters.and_then(|counters| counters.read().get(&column).copied()))
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
