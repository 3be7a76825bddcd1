//! Scans that only read columns that are in the memory of this process, so that they never wait for the store.

use crate::read::scan::Scan;
use arrow::array::ArrayRef;
use atsdb_core::{ChunkDescriptor, Column, Error, ErrorKind, Result};

impl Scan {
    /// The same read. If it needs a column that is not in memory, it fails with
    /// [`Unavailable`](atsdb_core::ErrorKind::Unavailable) instead of reading it.
    pub fn only_in_memory(mut self) -> Self {
        self.is_only_in_memory = true;
        self
    }

    /// The number of chunks in the time range, also of those that were pruned.
    pub fn chunk_count_listed(&self) -> usize {
        self.chunk_count_listed
    }

    /// Columns of a chunk, all of which must be in memory. A column that is newer than the chunk is `None`.
    pub(crate) fn columns_at_hand(
        &self,
        descriptor: &ChunkDescriptor,
        columns: &[&Column],
    ) -> Result<Vec<Option<ArrayRef>>> {
        let arrays = self.snapshot.columns_in_memory(descriptor, columns, self.request.use_cache);
        let is_unread =
            |array: &Option<ArrayRef>, column: &Column| array.is_none() && descriptor.page(column.id).is_some();
        if let Some((_, column)) = arrays.iter().zip(columns).find(|(array, column)| is_unread(array, column)) {
            return Err(Error::new(ErrorKind::Unavailable, format!("column {} is not in memory", column.name)));
        }
        Ok(arrays)
    }
}
