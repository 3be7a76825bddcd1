//! Some rows of a table with an index over each of its keys. Never changes.

use crate::hash::Seed;
use crate::index::HashIndex;
use crate::index_spec::IndexSpec;
use crate::keys::Keys;
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use atsdb_core::Result;

/// The most rows of a part: beyond it, tags of an index tell less.
pub(crate) const PART_ROWS_MAX: usize = 1 << 27;
/// The most bytes of one text column of a part, whose offsets have 32 bits.
pub(crate) const PART_TEXT_BYTES_MAX: usize = 2_000_000_000;

/// Rows and their indexes.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) columns: Vec<ArrayRef>,
    pub(crate) row_count: usize,
    /// In the order of the table's index specifications.
    pub(crate) indexes: Vec<HashIndex>,
    pub(crate) byte_count: usize,
}

impl Part {
    /// Indexes rows.
    pub(crate) fn build(
        columns: Vec<ArrayRef>,
        row_count: usize,
        specs: &[IndexSpec],
        seed: Seed,
        threads: usize,
    ) -> Result<Self> {
        let index = |spec: &IndexSpec| HashIndex::build(keys_of(&columns, spec)?, seed, threads);
        let indexes: Vec<HashIndex> = specs.iter().map(index).collect::<Result<_>>()?;
        let index_bytes: usize = indexes.iter().map(HashIndex::byte_count).sum();
        let byte_count = index_bytes + columns.iter().map(byte_count_of).sum::<usize>();
        Ok(Self { columns, row_count, indexes, byte_count })
    }
}

/// What rows have in the columns of an index.
pub(crate) fn keys_of(columns: &[ArrayRef], spec: &IndexSpec) -> Result<Keys> {
    let columns: Vec<ArrayRef> = spec.positions.iter().map(|position| ArrayRef::clone(&columns[*position])).collect();
    Keys::new(&columns)
}

/// The bytes that the values of an array take, not those of what it is a slice of.
pub(crate) fn byte_count_of(array: &ArrayRef) -> usize {
    array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size())
}

/// The bytes of an array's text; none if it holds none.
pub(crate) fn text_bytes_of(array: &ArrayRef) -> usize {
    match array.data_type() {
        DataType::Utf8 | DataType::Binary => byte_count_of(array),
        _ => 0,
    }
}
