//! Adding pages to a chunk that is visible.

use crate::state::{StoreState, StoredChunk};
use crate::table::{self, DroppedTables};
use atsdb_core::refusal;
use atsdb_core::{Amendment, Change, ChunkEntry, ChunkId, ColumnId, Result};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The state of a chunk after the preceding amendments of a change.
struct AmendedChunk<'a> {
    descriptor: &'a [u8],
    byte_count: u64,
    columns: BTreeSet<ColumnId>,
}

/// Refuses amendments that cannot be applied.
pub(crate) fn check(state: &StoreState, change: &Change, dropped: &DroppedTables) -> Result<()> {
    let mut amended: HashMap<ChunkId, AmendedChunk<'_>> = HashMap::new();
    for amendment in &change.amend {
        let Amendment { table, chunk: id, from, descriptor, descriptor_bytes, pages } = amendment;
        table::require(state, *table, dropped)?;
        let conflict = || refusal::chunk_changed(&change.table_name(*table), *id);
        let removed = change.remove.iter().any(|(_, chunk)| chunk == id);
        let stored = state.view.chunks.get(id).filter(|chunk| !removed && chunk.entry.table == *table);
        let entry = &stored.ok_or_else(conflict)?.entry;
        let before = amended.remove(id).unwrap_or_else(|| AmendedChunk {
            descriptor: &entry.descriptor_bytes,
            byte_count: entry.byte_count,
            columns: stored.iter().flat_map(|chunk| &chunk.pages).map(|(column, _)| *column).collect(),
        });
        if before.descriptor != from {
            return Err(conflict());
        }
        let AmendedChunk { mut byte_count, mut columns, .. } = before;
        let described = pages.iter().all(|(column, bytes)| {
            byte_count += bytes.len() as u64;
            columns.insert(*column)
                && descriptor.page(*column).is_some_and(|page| page.byte_count as usize == bytes.len())
        });
        if !described || columns.len() != descriptor.pages.len() || byte_count != descriptor.byte_count() {
            return Err(amendment.contradiction());
        }
        amended.insert(*id, AmendedChunk { descriptor: descriptor_bytes, byte_count, columns });
    }
    Ok(())
}

/// Replaces a chunk by one with more pages. Snapshots keep the old one.
pub(crate) fn amend(state: &mut StoreState, amendment: &Amendment) {
    let Amendment { table, chunk: id, descriptor, descriptor_bytes, pages, .. } = amendment;
    let view = state.view_mut();
    let Some(chunk) = view.chunks.get_mut(id) else { return };
    let new = pages.iter().map(|(column, bytes)| (*column, Arc::new(bytes.clone())));
    let descriptor_bytes = descriptor_bytes.clone();
    let entry = ChunkEntry { byte_count: descriptor.byte_count(), descriptor_bytes, ..chunk.entry.clone() };
    *chunk = Arc::new(StoredChunk { entry, pages: chunk.pages.iter().cloned().chain(new).collect() });
    if let Some(owner) = view.tables.get_mut(table) {
        Arc::make_mut(owner).chunks.insert((chunk.entry.slice_start, *id), Arc::clone(chunk));
    }
}
