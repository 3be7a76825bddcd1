//! What the store and its tables hold.

use crate::state::{State, StoredTable};
use atsdb_core::store::StoreSize;
use std::sync::PoisonError;

/// Payload bytes; what maps and lists occupy is not counted.
pub(crate) fn size(state: &State) -> StoreSize {
    let tables: Vec<_> = state.view.tables.iter().map(|(id, stored)| (*id, table_bytes(stored))).collect();
    let staged: u64 = state
        .stages
        .values()
        .flat_map(|stage| &stage.chunks)
        .map(|chunk| chunk.descriptor.byte_count() + chunk.descriptor_bytes.len() as u64)
        .sum();
    StoreSize { total: staged + tables.iter().map(|(_, byte_count)| byte_count).sum::<u64>(), tables }
}

fn table_bytes(stored: &StoredTable) -> u64 {
    let chunks = stored.chunks.values().map(|chunk| chunk.entry.byte_count + chunk.entry.descriptor_bytes.len() as u64);
    let dictionaries = stored.dictionaries.read().unwrap_or_else(PoisonError::into_inner);
    let values = dictionaries.values().flat_map(|dictionary| &dictionary.values).map(|value| value.len() as u64);
    chunks.sum::<u64>() + values.sum::<u64>()
}
