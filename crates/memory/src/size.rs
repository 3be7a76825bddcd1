//! The size of the store and its tables.

use crate::state::{StoreState, StoredChunk, StoredTable};
use atsdb_core::store::StoreSize;

/// Returns the payload sizes. The overhead of maps and lists is not counted.
pub(crate) fn size(state: &StoreState) -> StoreSize {
    let tables: Vec<_> = state.view.tables.iter().map(|(id, stored)| (*id, table_bytes(stored))).collect();
    let staged: u64 =
        state.stages.values().flat_map(|stage| stage.chunks.values()).map(|chunk| chunk_bytes(chunk)).sum();
    StoreSize { total: staged + tables.iter().map(|(_, byte_count)| byte_count).sum::<u64>(), tables }
}

fn chunk_bytes(chunk: &StoredChunk) -> u64 {
    chunk.entry.byte_count + chunk.entry.descriptor_bytes.len() as u64
}

fn table_bytes(stored: &StoredTable) -> u64 {
    let chunks = stored.chunks.values().map(|chunk| chunk_bytes(chunk));
    let dictionaries = stored.dictionaries.read();
    let values = dictionaries.values().flat_map(|dictionary| &dictionary.values).map(|value| value.len() as u64);
    chunks.sum::<u64>() + values.sum::<u64>()
}
