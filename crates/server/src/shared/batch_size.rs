//! The size of batches of rows.

use atsdb::arrow::array::{ArrayRef, RecordBatch};

/// The size of a batch's own rows in bytes. A batch may be a slice of far larger arrays.
pub(crate) fn byte_count(batch: &RecordBatch) -> usize {
    let of_column = |column: &ArrayRef| {
        let own = column.to_data().get_slice_memory_size();
        own.unwrap_or_else(|_| column.get_array_memory_size())
    };
    batch.columns().iter().map(of_column).sum()
}
