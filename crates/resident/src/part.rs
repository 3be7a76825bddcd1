//! An immutable part of a table: some rows with an index over each key.

use crate::hash::HashSeed;
use crate::index::HashIndex;
use crate::index_spec::IndexSpec;
use crate::keys::RowKeys;
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use atsdb_core::Result;

/// The maximum number of rows of a part. With more rows the tags of an index distinguish less.
pub(crate) const PART_ROWS_MAX: usize = 1 << 27;
/// The maximum size in bytes of one text column of a part, whose offsets have 32 bits.
pub(crate) const PART_TEXT_BYTES_MAX: usize = 2_000_000_000;

/// Rows and their indexes.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) columns: Vec<ArrayRef>,
    pub(crate) row_count: usize,
    /// The indexes, in the order of the table's index specifications.
    pub(crate) indexes: Vec<HashIndex>,
    pub(crate) byte_count: usize,
}

impl Part {
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

/// Returns the size of an array's text in bytes, or 0 if it has another type.
pub(crate) fn text_bytes_of(array: &ArrayRef) -> usize {
    match array.data_type() {
        DataType::Utf8 | DataType::Binary => byte_count_of(array),
        _ => 0,
    }
}
