//! Writing and removing chunks. `snapshot` reads them.

use crate::state::{StoreState, StoredChunk};
use crate::table::{self, DroppedTables};
use atsdb_core::refusal;
use atsdb_core::{Change, ChunkEntry, ChunkId, NewChunk, Result, TableId};
use std::collections::HashSet;
use std::sync::Arc;

/// Converts a new chunk to a stored one with this number.
pub(crate) fn to_stored(id: ChunkId, chunk: NewChunk) -> StoredChunk {
    let NewChunk { table, descriptor, descriptor_bytes, pages } = chunk;
    let entry = ChunkEntry::of(id, table, &descriptor, descriptor_bytes);
    let columns = descriptor.pages.iter().map(|page| page.column);
    StoredChunk { entry, pages: columns.zip(pages.into_iter().map(Arc::new)).collect() }
}

/// Makes a chunk of a visible table visible, with the next number.
pub(crate) fn insert(state: &mut StoreState, chunk: NewChunk) {
    state.chunk_last += 1;
    let id = ChunkId(state.chunk_last);
    publish(state, to_stored(id, chunk));
}

/// Makes a chunk of a visible table visible.
pub(crate) fn publish(state: &mut StoreState, chunk: StoredChunk) {
    let (id, table, slice_start) = (chunk.entry.id, chunk.entry.table, chunk.entry.slice_start);
    let view = state.view_mut();
    if let Some(owner) = view.tables.get_mut(&table) {
        let chunk = Arc::new(chunk);
        Arc::make_mut(owner).chunks.insert((slice_start, id), Arc::clone(&chunk));
        view.chunks.insert(id, chunk);
    }
}

/// Refuses the removal of chunks that do not exist.
pub(crate) fn check_removal(state: &StoreState, change: &Change, dropped: &DroppedTables) -> Result<()> {
    let mut seen = HashSet::new();
    for (table, id) in &change.remove {
        table::require(state, *table, dropped)?;
        let there = state.view.chunks.get(id).is_some_and(|chunk| chunk.entry.table == *table);
        if !there || !seen.insert(id) {
            return Err(refusal::chunk_replaced(&change.table_name(*table), *id));
        }
    }
    Ok(())
}

/// Removes an existing chunk.
pub(crate) fn remove(state: &mut StoreState, table: TableId, id: ChunkId) {
    let view = state.view_mut();
    let Some(chunk) = view.chunks.remove(&id) else { return };
    if let Some(owner) = view.tables.get_mut(&table) {
        Arc::make_mut(owner).chunks.remove(&(chunk.entry.slice_start, id));
    }
}
