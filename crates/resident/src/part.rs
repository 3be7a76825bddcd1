//! An immutable part of a table: some rows with an index over each key.

use crate::hash::HashSeed;
use crate::index::HashIndex;
use crate::index_spec::IndexSpec;
use crate::keys::RowKeys;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{ArrowNativeType, DataType};
use atsdb_core::Result;

/// The maximum number of rows of a part. With more rows the tags of an index distinguish less.
pub(crate) const PART_ROWS_MAX: usize = 1 << 27;
/// The maximum size in bytes of one text column of a part, whose offsets have 32 bits; also the maximum number of
/// elements in a column of arrays, and the maximum size of their text.
pub(crate) const PART_TEXT_BYTES_MAX: usize = 2_000_000_000;

/// Rows and their indexes.
#[derive(Debug)]
pub(crate) struct TablePart {
    pub(crate) columns: Vec<ArrayRef>,
    pub(crate) row_count: usize,
    /// The indexes, in the order of the table's index specifications.
    pub(crate) indexes: Vec<HashIndex>,
    pub(crate) byte_count: usize,
}

impl TablePart {
    /// Creates a part and builds its indexes.
    pub(crate) fn build(
        columns: Vec<ArrayRef>,
        row_count: usize,
        specs: &[IndexSpec],
        seed: HashSeed,
        threads: usize,
    ) -> Result<Self> {
        let index = |spec: &IndexSpec| HashIndex::build(keys_of(&columns, spec)?, seed, threads);
        let indexes: Vec<HashIndex> = specs.iter().map(index).collect::<Result<_>>()?;
        let index_bytes: usize = indexes.iter().map(HashIndex::byte_count).sum();
        let byte_count = index_bytes + columns.iter().map(byte_count_of).sum::<usize>();
        Ok(Self { columns, row_count, indexes, byte_count })
    }
}

/// Returns the keys of an index.
pub(crate) fn keys_of(columns: &[ArrayRef], spec: &IndexSpec) -> Result<RowKeys> {
    let columns: Vec<ArrayRef> = spec.positions.iter().map(|position| ArrayRef::clone(&columns[*position])).collect();
    if spec.nulls_equal { RowKeys::with_equal_nulls(&columns) } else { RowKeys::new(&columns) }
}

/// Returns the size of an array's values in bytes, without those outside of a slice.
pub(crate) fn byte_count_of(array: &ArrayRef) -> usize {
    array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size())
}

/// Returns the size of an array's text in bytes. For lists it is that of their elements, or their number if it is
/// greater. Arrays of other types have none.
pub(crate) fn text_bytes_of(array: &ArrayRef) -> usize {
    match array.data_type() {
        DataType::Utf8 | DataType::Binary => byte_count_of(array),
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let first = lists.value_offsets().first().map_or(0, |offset| offset.as_usize());
            let count: usize = lists.offsets().lengths().sum();
            text_bytes_of(&lists.values().slice(first, count)).max(count)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int32Builder, ListBuilder, StringBuilder};
    use std::sync::Arc;

    #[test]
    fn the_text_of_arrays_counts_as_that_of_texts() {
        let mut texts = ListBuilder::new(StringBuilder::new());
        let mut numbers = ListBuilder::new(Int32Builder::new());
        for row in 0..10 {
            texts.append_value([Some("x".repeat(1_000)), None]);
            numbers.append_value([Some(row), None, Some(row)]);
        }
        let texts: ArrayRef = Arc::new(texts.finish());
        assert!((10_000..11_000).contains(&text_bytes_of(&texts)), "{}", text_bytes_of(&texts));
        assert!((3_000..3_300).contains(&text_bytes_of(&texts.slice(4, 3))), "only the rows of a slice count");
        let numbers: ArrayRef = Arc::new(numbers.finish());
        assert_eq!((text_bytes_of(&numbers), text_bytes_of(&numbers.slice(1, 2))), (30, 6));
    }
}
