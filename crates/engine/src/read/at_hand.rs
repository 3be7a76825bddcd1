//! Scans that only read columns that are in the memory of this process, so that they never wait for the store.

use crate::read::scan::Scan;
use atsdb_codec::stored_type;
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

    /// Fails if a column is not in memory, although it must be.
    pub(crate) fn require_in_memory(&self, descriptor: &ChunkDescriptor, columns: &[&Column]) -> Result<()> {
        if !self.is_only_in_memory {
            return Ok(());
        }
        let shared = &self.snapshot.shared;
        for &column in columns.iter().filter(|column| descriptor.page(column.id).is_some()) {
            let kept = shared.preloaded.get(descriptor.uid, column.id);
            let kept = kept.or_else(|| shared.cache.peek(descriptor.uid, column.id));
            if kept.is_none_or(|array| *array.data_type() != stored_type(column)) {
                return Err(Error::new(ErrorKind::Unavailable, format!("column {} is not in memory", column.name)));
            }
        }
        Ok(())
    }
}
