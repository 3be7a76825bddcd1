//! The strings of mapped columns: from dictionaries to arrays.

use crate::chunk::missing::column_statistics;
use crate::chunk::slice_buffer::internal;
use crate::read::scan_chunk::ScanChunk;
use crate::read::snapshot::Inner;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, DictionaryArray, StringArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::ArrowDictionaryKeyType;
use atsdb_core::{Bound, Column, Error, Result, Table};
use std::sync::Arc;

/// The strings of a mapped column, at least those that the chunks use.
pub(crate) fn load_dictionary(
    snapshot: &Inner,
    table: &Table,
    column: &Column,
    chunks: &[ScanChunk],
) -> Result<Arc<StringArray>> {
    let largest = |chunk: &ScanChunk| match column_statistics(&chunk.descriptor, column).max {
        Some(Bound::UInt(max)) => usize::try_from(max).ok(),
        _ => None,
    };
    let count = chunks.iter().filter_map(largest).max().map_or(0, |max| max.saturating_add(1));
    let dictionary = snapshot.shared.dictionaries.get(table.id, column.id);
    let strings = dictionary.strings(snapshot.store.as_ref(), count);
    strings.map_err(|error| error.context(format_args!("table {}, column {}", table.definition.name, column.name)))
}

/// Indices and their strings as a dictionary array. Where the rows use few of many strings, only those go along,
/// so that work on the strings costs no more than work on the rows.
pub(crate) fn with_strings<K: ArrowDictionaryKeyType + ArrowPrimitiveType>(
    indices: &ArrayRef,
    strings: &Arc<StringArray>,
) -> Result<ArrayRef> {
    let keys = indices.as_primitive::<K>();
    let beyond = |error| Error::corrupt("an index is beyond its dictionary").with_source(error);
    if strings.len() <= keys.len().max(256) {
        let strings = ArrayRef::clone(&(Arc::clone(strings) as ArrayRef));
        return Ok(Arc::new(DictionaryArray::<K>::try_new(keys.clone(), strings).map_err(beyond)?));
    }
    use arrow::datatypes::ArrowNativeType;
    let mut used: Vec<u32> = keys.iter().flatten().map(|key| key.as_usize() as u32).collect();
    used.sort_unstable();
    used.dedup();
    let renumber = |key: K::Native| {
        let position = used.binary_search(&(key.as_usize() as u32)).unwrap_or(0);
        K::Native::from_usize(position).unwrap_or_default()
    };
    if used.last().is_some_and(|last| *last as usize >= strings.len()) {
        return Err(Error::corrupt("an index is beyond its dictionary"));
    }
    let keys = keys.unary::<_, K>(renumber);
    let picked = take(strings.as_ref(), &UInt32Array::from(used), None).map_err(internal)?;
    Ok(Arc::new(DictionaryArray::<K>::try_new(keys, picked).map_err(beyond)?))
}
