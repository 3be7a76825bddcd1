//! The cache of decoded columns (L1), and of what is derived from them. Chunks never change and their 128-bit names are
//! never reused, so entries are never stale; they are only evicted.

use crate::chunk::time_runs::TimeRuns;
use arrow::array::{Array, ArrayRef};
use atsdb_core::{ChunkUid, ColumnId, ColumnType, Result};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::sync::Arc;

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

/// A chunk, and the type of its time column, which can be widened.
type TimeKey = (ChunkUid, ColumnType);

impl Weighter<TimeKey, Arc<TimeRuns>> for ByteWeighter {
    fn weight(&self, _: &TimeKey, runs: &Arc<TimeRuns>) -> u64 {
        runs.memory_bytes() as u64 + 64
    }
}

/// The share of the memory that is for the runs of times: one in 16. They are much smaller than the times.
const TIME_RUNS_SHARE: u64 = 16;

pub(crate) struct ColumnCache {
    columns: Cache<Key, ArrayRef, ByteWeighter>,
    time_runs: Cache<TimeKey, Arc<TimeRuns>, ByteWeighter>,
    bytes_max: u64,
}

impl ColumnCache {
    pub(crate) fn new(bytes_max: usize) -> Self {
        let bytes_max = bytes_max as u64;
        // A decoded column of a full chunk takes 128 KiB to 1 MiB.
        let expected = (bytes_max >> 19).clamp(16, 1 << 20) as usize;
        let time_runs_bytes = bytes_max / TIME_RUNS_SHARE;
        Self {
            columns: Cache::with_weighter(expected, bytes_max - time_runs_bytes, ByteWeighter),
            time_runs: Cache::with_weighter(expected, time_runs_bytes, ByteWeighter),
            bytes_max,
        }
    }

    pub(crate) fn get(&self, chunk: ChunkUid, column: ColumnId) -> Option<ArrayRef> {
        self.columns.get(&(chunk, column))
    }

    /// A column that is in the cache, for a caller that does not use it now: it counts as no lookup.
    pub(crate) fn peek(&self, chunk: ChunkUid, column: ColumnId) -> Option<ArrayRef> {
        self.columns.peek(&(chunk, column))
    }

    pub(crate) fn put(&self, chunk: ChunkUid, column: ColumnId, array: &ArrayRef) {
        if self.bytes_max > 0 {
            self.columns.insert((chunk, column), ArrayRef::clone(array));
        }
    }

    /// The runs of a chunk's times. They are found by `find` if they are not in the cache.
    pub(crate) fn time_runs(
        &self,
        chunk: ChunkUid,
        column_type: ColumnType,
        find: impl FnOnce() -> Result<TimeRuns>,
    ) -> Result<Arc<TimeRuns>> {
        self.time_runs.get_or_insert_with(&(chunk, column_type), || find().map(Arc::new))
    }

    /// The runs of a chunk's times, if they are in the cache.
    pub(crate) fn known_time_runs(&self, chunk: ChunkUid, column_type: ColumnType) -> Option<Arc<TimeRuns>> {
        self.time_runs.get(&(chunk, column_type))
    }

    pub(crate) fn stats(&self) -> CacheStats {
        CacheStats {
            hits: self.columns.hits(),
            misses: self.columns.misses(),
            bytes: self.columns.weight() + self.time_runs.weight(),
            bytes_max: self.bytes_max,
        }
    }
}
