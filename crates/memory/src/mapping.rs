//! The dictionaries of mapped columns: strings to indices, and back.

use crate::state::{Dictionaries, StoreState};
use atsdb_core::refusal;
use atsdb_core::{ColumnId, Result, TableId};
use std::collections::HashSet;
use std::sync::Arc;

/// Returns the indices of the strings. Unknown strings get the next indices, in order.
pub(crate) fn map_values(
    state: &StoreState,
    table: TableId,
    column: ColumnId,
    capacity: u64,
    values: &[&[u8]],
) -> Result<Vec<u32>> {
    let staged = || state.stages.values().find_map(|stage| stage.tables.get(&table));
    let stored = state.view.tables.get(&table).or_else(staged).ok_or_else(|| refusal::no_table(table))?;
    let mut dictionaries = stored.dictionaries.write();
    let dictionary = dictionaries.entry(column).or_default();
    let new: HashSet<&[u8]> = values.iter().copied().filter(|value| !dictionary.indices.contains_key(*value)).collect();
    if !new.is_empty() && (dictionary.values.len() + new.len()) as u64 > capacity {
        return Err(refusal::dictionary_full(capacity));
    }
    let mut index_of = |value: &[u8]| {
        if let Some(index) = dictionary.indices.get(value) {
            return *index;
        }
        let (index, value) = (dictionary.values.len() as u32, Arc::<[u8]>::from(value));
        dictionary.values.push(Arc::clone(&value));
        dictionary.indices.insert(value, index);
        index
    };
    Ok(values.iter().map(|value| index_of(value)).collect())
}

/// Returns the dictionary from an index on.
pub(crate) fn read(dictionaries: &Dictionaries, column: ColumnId, first: u32) -> Vec<Vec<u8>> {
    let dictionaries = dictionaries.read();
    let values = dictionaries.get(&column).map_or(&[][..], |dictionary| &dictionary.values);
    values.iter().skip(first as usize).map(|value| value.to_vec()).collect()
}
