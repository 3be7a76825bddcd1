//! The strings of mapped columns: turning indices into dictionary arrays.

use crate::chunk::missing::column_statistics;
use crate::read::scan_chunk::ScanChunk;
use crate::read::snapshot::{Inner, ReadSnapshot};
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, DictionaryArray, StringArray, UInt32Array};
use arrow::compute::{cast, max, take};
use arrow::datatypes::{ArrowDictionaryKeyType, DataType, UInt8Type, UInt16Type, UInt32Type};
use atsdb_codec::stored_type;
use atsdb_core::{Bound, Column, Error, MapWidth, Result, Table};
use std::sync::Arc;

/// The strings of a mapped column in order of index, at least those that the chunks use.
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
    first_strings(snapshot, table, column, count)
}

/// The strings of a mapped column in order of index, at least the first `count`.
fn first_strings(snapshot: &Inner, table: &Table, column: &Column, count: usize) -> Result<Arc<StringArray>> {
    let dictionary = snapshot.shared.dictionaries.get(table.id, column.id);
    let strings = dictionary.strings(snapshot.store.as_ref(), count);
    strings.map_err(|error| error.context(format_args!("table {}, column {}", table.definition.name, column.name)))
}

impl ReadSnapshot {
    /// The strings of indices that a scan [returned](crate::Scan::with_indices) for a mapped column, in the column's
    /// logical type.
    pub fn strings(&self, table: &Table, column: &Column, indices: &ArrayRef) -> Result<ArrayRef> {
        let not_mapped = || Error::usage(format!("column {} of {} is not mapped", column.name, table.definition.name));
        let width = column.map.ok_or_else(not_mapped)?;
        if *indices.data_type() != stored_type(column) {
            return Err(Error::internal(format!(
                "indices of column {} have type {}",
                column.name,
                indices.data_type()
            )));
        }
        let largest = cast(indices, &DataType::UInt32)?;
        let count = max(largest.as_primitive::<UInt32Type>()).map_or(0, |largest| largest as usize + 1);
        with_strings(width, indices, &first_strings(&self.inner, table, column, count)?)
    }
}

/// Combines indices and strings into a dictionary array. If the rows use few of many strings, only these are included,
/// so that work on the strings costs no more than work on the rows.
pub(crate) fn with_strings(width: MapWidth, indices: &ArrayRef, strings: &Arc<StringArray>) -> Result<ArrayRef> {
    match width {
        MapWidth::U8 => with_strings_by::<UInt8Type>(indices, strings),
        MapWidth::U16 => with_strings_by::<UInt16Type>(indices, strings),
        MapWidth::U32 => with_strings_by::<UInt32Type>(indices, strings),
    }
}

fn with_strings_by<K: ArrowDictionaryKeyType + ArrowPrimitiveType>(
    indices: &ArrayRef,
    strings: &Arc<StringArray>,
) -> Result<ArrayRef> {
    let keys = indices.as_primitive::<K>();
    let beyond = |error| Error::corrupt("a row has an index beyond the end of its dictionary").with_source(error);
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
        return Err(Error::corrupt("a row has an index beyond the end of its dictionary"));
    }
    let keys = keys.unary::<_, K>(renumber);
    let picked = take(strings.as_ref(), &UInt32Array::from(used), None)?;
    Ok(Arc::new(DictionaryArray::<K>::try_new(keys, picked).map_err(beyond)?))
}
