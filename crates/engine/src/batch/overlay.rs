//! What a batch sees: the store as it was when the batch first looked, with the batch's own changes.
//!
//! Owned here: putting the three places together where rows may lie (the store's snapshot, the batch's stage, the
//! batch's memory). What the changes are is `batch`'s.

use crate::read::snapshot::ReadSnapshot;
use atsdb_core::{
    ChunkEntry, ChunkId, ColumnId, Error, NewChunk, Result, Snapshot, StageId, Store, Table, TableId, TimeRange,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A chunk that lies in the batch's memory, under a number below zero: no store's chunk has one.
#[derive(Clone)]
pub(crate) struct OwnChunk {
    pub(crate) id: ChunkId,
    pub(crate) chunk: Arc<NewChunk>,
}

/// What lies in the batch's stage.
pub(crate) struct Staged {
    snapshot: Box<dyn Snapshot>,
    tables: BTreeSet<TableId>,
    chunks: BTreeSet<ChunkId>,
}

impl Staged {
    /// What lies in it now, of these tables.
    pub(crate) fn look(store: &dyn Store, stage: StageId, tables: &[Table]) -> Result<Self> {
        let snapshot = store.stage_snapshot(stage)?;
        let own = snapshot.tables()?.iter().map(|table| table.id).collect();
        let mut chunks = BTreeSet::new();
        for table in tables {
            chunks.extend(snapshot.chunks(table.id, TimeRange::ALL)?.iter().map(|entry| entry.id));
        }
        Ok(Self { snapshot, tables: own, chunks })
    }

    /// The chunks in it.
    pub(crate) fn chunks(&self) -> &BTreeSet<ChunkId> {
        &self.chunks
    }

    /// Whether a chunk lies in it. No visible chunk has the number of a staged one.
    pub(crate) fn holds(&self, chunk: ChunkId) -> bool {
        self.chunks.contains(&chunk)
    }
}

/// A store with the changes of one batch.
pub(crate) struct Overlay {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) base: ReadSnapshot,
    pub(crate) stage: Option<Staged>,
    pub(crate) tables: Vec<Table>,
    /// Chunks of the base, and of the stage, that the batch takes away.
    pub(crate) removed: BTreeSet<ChunkId>,
    pub(crate) own: Vec<OwnChunk>,
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
        let own = self.own.iter().filter(|own| own.chunk.table == table).map(entry_of);
        entries.extend(own.filter(|entry| range.overlaps(entry.time_min, entry.time_max)));
        // The batch's own come last, as they will when it is committed.
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
        // Somebody else has dropped the table, and its dictionary with it.
        match self.own.iter().any(|own| own.chunk.table == table) {
            true => Err(Error::not_found(format!("table number {} was dropped by another writer", table.0))),
            false => self.base.inner.store.mapping(table, column, first),
        }
    }

    fn read_pages(&self, chunk: ChunkId, columns: &[ColumnId]) -> Result<Vec<Vec<u8>>> {
        if chunk.0 < 0 {
            return own_pages(self.own.iter().find(|own| own.id == chunk), chunk, columns);
        }
        match &self.stage {
            Some(stage) if stage.holds(chunk) => stage.snapshot.read_pages(chunk, columns),
            _ => self.base.inner.store.read_pages(chunk, columns),
        }
    }
}

fn entry_of(own: &OwnChunk) -> ChunkEntry {
    ChunkEntry::of(own.id, own.chunk.table, &own.chunk.descriptor, own.chunk.descriptor_bytes.clone())
}

fn own_pages(own: Option<&OwnChunk>, chunk: ChunkId, columns: &[ColumnId]) -> Result<Vec<Vec<u8>>> {
    let own = own.ok_or_else(|| Error::internal(format!("chunk {} is not the batch's", chunk.0)))?;
    let page = |column: &ColumnId| {
        let pages = own.chunk.descriptor.pages.iter().zip(&own.chunk.pages);
        let found = pages.into_iter().find(|(page, _)| page.column == *column).map(|(_, bytes)| bytes.clone());
        found.ok_or_else(|| Error::corrupt(format!("the page of column {} of chunk {} is missing", column.0, chunk.0)))
    };
    columns.iter().map(page).collect()
}
