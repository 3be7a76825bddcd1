//! The view of a batch: the store when the batch first read it, with the batch's own changes.
//!
//! The overlay combines the three places that hold rows: the store's snapshot, the batch's stage and the batch's
//! memory. Not owned: which changes there are (`changes`).

use crate::batch::collector::PendingChunk;
use crate::read::snapshot::ReadSnapshot;
use atsdb_core::refusal;
use atsdb_core::{
    ChunkEntry, ChunkId, ColumnId, Counter, DefinitionGuard, Error, Result, Snapshot, StageId, Store, Table, TableId,
    TimeRange,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The contents of the batch's stage.
pub(crate) struct StageContents {
    snapshot: Box<dyn Snapshot>,
    tables: BTreeSet<TableId>,
    chunks: BTreeSet<ChunkId>,
}

impl StageContents {
    /// Reads the chunks of these tables that the stage holds now, and the tables that it creates.
    pub(crate) fn read(store: &dyn Store, stage: StageId, tables: &[Table]) -> Result<Self> {
        let snapshot = store.stage_snapshot(stage)?;
        let own = snapshot.tables()?.iter().map(|table| table.id).collect();
        let mut chunks = BTreeSet::new();
        for table in tables {
            chunks.extend(snapshot.chunks(table.id, TimeRange::ALL)?.iter().map(|entry| entry.id));
        }
        Ok(Self { snapshot, tables: own, chunks })
    }

    /// The staged chunks.
    pub(crate) fn chunks(&self) -> &BTreeSet<ChunkId> {
        &self.chunks
    }

    /// Returns whether a chunk is staged. No visible chunk has the number of a staged one.
    pub(crate) fn holds(&self, chunk: ChunkId) -> bool {
        self.chunks.contains(&chunk)
    }
}

/// A store with the changes of one batch.
pub(crate) struct Overlay {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) base: ReadSnapshot,
    pub(crate) stage: Option<StageContents>,
    pub(crate) tables: Vec<Table>,
    /// Chunks of the base and of the stage that the batch removes.
    pub(crate) removed: BTreeSet<ChunkId>,
    pub(crate) pending: Vec<PendingChunk>,
}

impl Snapshot for Overlay {
    fn tables(&self) -> Result<Vec<Table>> {
        Ok(self.tables.clone())
    }

    fn chunks(&self, table: TableId, range: TimeRange) -> Result<Vec<ChunkEntry>> {
        let mut entries = self.base.inner.store.chunks(table, range)?;
        if let Some(stage) = &self.stage {
            entries.extend(stage.snapshot.chunks(table, range)?);
        }
        entries.retain(|entry| !self.removed.contains(&entry.id));
        let pending = self.pending.iter().filter(|pending| pending.chunk.table == table).map(PendingChunk::entry);
        entries.extend(pending.filter(|entry| range.overlaps(entry.time_min, entry.time_max)));
        // The batch's own chunks come last, as they will after the commit.
        entries.sort_by_key(|entry| (entry.slice_start, entry.id.0 < 0, entry.id.0.unsigned_abs()));
        Ok(entries)
    }

    fn newest_chunk(&self) -> Result<ChunkId> {
        self.base.inner.store.newest_chunk()
    }

    fn mapping(&self, table: TableId, column: ColumnId, first: u32) -> Result<Vec<Vec<u8>>> {
        if let Some(stage) = self.stage.as_ref().filter(|stage| stage.tables.contains(&table)) {
            return stage.snapshot.mapping(table, column, first);
        }
        // The batch may use strings that came into the dictionary after the base was taken.
        let present = self.store.snapshot()?;
        let strings = present.mapping(table, column, first)?;
        if !strings.is_empty() || present.tables()?.iter().any(|present| present.id == table) {
            return Ok(strings);
        }
        // Another writer has dropped the table, and its dictionary with it.
        if !self.pending.iter().any(|pending| pending.chunk.table == table) {
            return self.base.inner.store.mapping(table, column, first);
        }
        Err(match self.base.table_by_id(table) {
            Some(dropped) => refusal::table_dropped(&DefinitionGuard::of(dropped)),
            None => refusal::no_table(table),
        })
    }

    /// Reserving numbers is not part of a batch, so the present state counts.
    fn counter(&self, table: TableId, column: ColumnId) -> Result<Option<Counter>> {
        self.store.snapshot()?.counter(table, column)
    }

    fn read_pages(&self, chunk: ChunkId, columns: &[ColumnId]) -> Result<Vec<Vec<u8>>> {
        if chunk.0 < 0 {
            return pending_pages(self.pending.iter().find(|pending| pending.id == chunk), chunk, columns);
        }
        match &self.stage {
            Some(stage) if stage.holds(chunk) => stage.snapshot.read_pages(chunk, columns),
            _ => self.base.inner.store.read_pages(chunk, columns),
        }
    }
}

fn pending_pages(pending: Option<&PendingChunk>, chunk: ChunkId, columns: &[ColumnId]) -> Result<Vec<Vec<u8>>> {
    let pending = pending.ok_or_else(|| Error::internal(format!("chunk {} is not the batch's", chunk.0)))?;
    let page = |column: &ColumnId| {
        let pages = pending.chunk.descriptor.pages.iter().zip(&pending.chunk.pages);
        let found = pages.into_iter().find(|(page, _)| page.column == *column).map(|(_, bytes)| bytes.clone());
        found.ok_or_else(|| refusal::page_missing(chunk, *column))
    };
    columns.iter().map(page).collect()
}
