//! Writing chunks and taking them away. Reading them is in `snapshot`.

use crate::state::{State, StoredChunk};
use crate::table;
use atsdb_core::{ChunkEntry, ChunkId, Error, ErrorKind, NewChunk, Result, TableId};
use std::sync::Arc;

/// Refuses a chunk that does not agree with its own descriptor.
pub(crate) fn check(chunk: &NewChunk) -> Result<()> {
    let described = chunk.descriptor.pages.iter().map(|page| page.byte_count as usize);
    if described.eq(chunk.pages.iter().map(Vec::len)) {
        return Ok(());
    }
    Err(Error::internal(format!("chunk {} does not have the pages its descriptor tells", chunk.descriptor.uid)))
}

/// Makes a chunk of a visible table visible, with the next number.
pub(crate) fn insert(state: &mut State, chunk: NewChunk) {
    state.chunk_last += 1;
    let id = ChunkId(state.chunk_last);
    let NewChunk { table, descriptor, descriptor_bytes, pages } = chunk;
    let byte_count = descriptor.byte_count();
    let stored = Arc::new(StoredChunk {
        entry: ChunkEntry {
            id,
            table,
            slice_start: descriptor.slice.start,
            sealed: descriptor.sealed,
            row_count: descriptor.row_count,
            time_min: descriptor.time_min,
            time_max: descriptor.time_max,
            byte_count,
            descriptor_bytes,
        },
        pages: descriptor.pages.iter().map(|page| page.column).zip(pages).collect(),
    });
    let view = state.view_mut();
    if let Some(owner) = view.tables.get_mut(&table) {
        Arc::make_mut(owner).chunks.insert((descriptor.slice.start, id), Arc::clone(&stored));
        view.chunks.insert(id, stored);
    }
}

/// Refuses chunks to remove that are not there.
pub(crate) fn check_removal(state: &State, remove: &[(TableId, ChunkId)]) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    for (table, id) in remove {
        if !state.view.tables.contains_key(table) {
            return Err(table::missing(*table));
        }
        let there = state.view.chunks.get(id).is_some_and(|chunk| chunk.entry.table == *table);
        if !there || !seen.insert(id) {
            let message = format!("chunk {} of table {} was replaced by another writer", id.0, table.0);
            return Err(Error::new(ErrorKind::Conflict, message));
        }
    }
    Ok(())
}

/// Takes a chunk away that is there.
pub(crate) fn remove(state: &mut State, table: TableId, id: ChunkId) {
    let view = state.view_mut();
    let Some(chunk) = view.chunks.remove(&id) else { return };
    if let Some(owner) = view.tables.get_mut(&table) {
        Arc::make_mut(owner).chunks.remove(&(chunk.entry.slice_start, id));
    }
}
