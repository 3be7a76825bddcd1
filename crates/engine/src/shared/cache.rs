//! The cache of decoded columns (L1). Chunks never change and their 128-bit names are never reused, so entries are
//! never stale; they are only evicted.

use arrow::array::{Array, ArrayRef};
use atsdb_core::{ChunkUid, ColumnId};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Figures of the cache of decoded columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStats {
    /// Lookups of a chunk's column that found it.
    pub hits: u64,
    /// Lookups that did not: the column was read and decoded.
    pub misses: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Maximum size in bytes.
    pub bytes_max: u64,
}

type Key = (ChunkUid, ColumnId);

#[derive(Clone)]
struct ByteWeighter;

impl Weighter<Key, ArrayRef> for ByteWeighter {
    fn weight(&self, _: &Key, array: &ArrayRef) -> u64 {
        array.get_array_memory_size() as u64 + 64
    }
}

pub(crate) struct ColumnCache {
    columns: Cache<Key, ArrayRef, ByteWeighter>,
    bytes_max: u64,
}

impl ColumnCache {
    pub(crate) fn new(bytes_max: usize) -> Self {
        let bytes_max = bytes_max as u64;
        // A decoded column of a full chunk takes 128 KiB to 1 MiB.
        let expected = (bytes_max >> 19).clamp(16, 1 << 20) as usize;
        Self { columns: Cache::with_weighter(expected, bytes_max, ByteWeighter), bytes_max }
    }

    pub(crate) fn get(&self, chunk: ChunkUid, column: ColumnId) -> Option<ArrayRef> {
        self.columns.get(&(chunk, column))
    }

    pub(crate) fn put(&self, chunk: ChunkUid, column: ColumnId, array: &ArrayRef) {
        if self.bytes_max > 0 {
            self.columns.insert((chunk, column), ArrayRef::clone(array));
        }
    }

    pub(crate) fn stats(&self) -> CacheStats {
        CacheStats {
            hits: self.columns.hits(),
            misses: self.columns.misses(),
            bytes: self.columns.weight(),
            bytes_max: self.bytes_max,
        }
    }
}
