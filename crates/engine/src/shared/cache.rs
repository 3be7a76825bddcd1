//! The cache of decoded columns (L1), of what is derived from them, and of decoded descriptors. The columns of a chunk
//! never change and its 128-bit name is never reused, so entries are never stale; they are only evicted. A chunk's
//! descriptor changes when an index is built over it, so a decoded descriptor is found by what its bytes contain.

use crate::chunk::time_runs::TimeRuns;
use arrow::array::{Array, ArrayRef};
use atsdb_codec::{DescriptorKey, decode_descriptor};
use atsdb_core::{ChunkDescriptor, ChunkUid, ColumnId, ColumnType, Result};
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

impl Weighter<DescriptorKey, Arc<ChunkDescriptor>> for ByteWeighter {
    fn weight(&self, _: &DescriptorKey, descriptor: &Arc<ChunkDescriptor>) -> u64 {
        descriptor.memory_bytes() as u64 + 64
    }
}

/// The share of the memory that is for descriptors: one in 16. A column of a descriptor takes about 100 bytes, and the
/// decoded column some hundred kilobytes.
const DESCRIPTORS_SHARE: u64 = 16;

/// The share of the memory that is for the runs of times: one in 16. They are much smaller than the times.
const TIME_RUNS_SHARE: u64 = 16;

pub(crate) struct ColumnCache {
    columns: Cache<Key, ArrayRef, ByteWeighter>,
    time_runs: Cache<TimeKey, Arc<TimeRuns>, ByteWeighter>,
    descriptors: Cache<DescriptorKey, Arc<ChunkDescriptor>, ByteWeighter>,
    bytes_max: u64,
}

impl ColumnCache {
    pub(crate) fn new(bytes_max: usize) -> Self {
        let bytes_max = bytes_max as u64;
        // A decoded column of a full chunk takes 128 KiB to 1 MiB.
        let expected = (bytes_max >> 19).clamp(16, 1 << 20) as usize;
        let (time_runs_bytes, descriptors_bytes) = (bytes_max / TIME_RUNS_SHARE, bytes_max / DESCRIPTORS_SHARE);
        let columns_bytes = bytes_max - time_runs_bytes - descriptors_bytes;
        // A descriptor takes 1 KiB to 16 KiB, unless it has very many columns.
        let expected_descriptors = (descriptors_bytes >> 14).clamp(16, 1 << 20) as usize;
        Self {
            columns: Cache::with_weighter(expected, columns_bytes, ByteWeighter),
            time_runs: Cache::with_weighter(expected, time_runs_bytes, ByteWeighter),
            descriptors: Cache::with_weighter(expected_descriptors, descriptors_bytes, ByteWeighter),
            bytes_max,
        }
    }

    pub(crate) fn get(&self, chunk: ChunkUid, column: ColumnId) -> Option<ArrayRef> {
        self.columns.get(&(chunk, column))
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

    /// The descriptor that these bytes encode. Damaged bytes are an error, also if they were decoded when they were
    /// whole.
    pub(crate) fn descriptor(&self, bytes: &[u8]) -> Result<Arc<ChunkDescriptor>> {
        let decode = || decode_descriptor(bytes).map(Arc::new);
        match DescriptorKey::of(bytes) {
            Some(key) => self.descriptors.get_or_insert_with(&key, decode),
            // Decoding them reports the damage.
            None => decode(),
        }
    }

    pub(crate) fn stats(&self) -> CacheStats {
        CacheStats {
            hits: self.columns.hits(),
            misses: self.columns.misses(),
            bytes: self.columns.weight() + self.time_runs.weight() + self.descriptors.weight(),
            bytes_max: self.bytes_max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_codec::encode_descriptor;
    use atsdb_core::{Bound, ColumnStatistics, ErrorKind, PageDescriptor, Slice};

    /// The encoded descriptor of a chunk with this many columns.
    fn encoded(chunk: u8, column_count: u16) -> Vec<u8> {
        let bound = |value: u8| Some(Bound::Bytes(vec![value; 16]));
        let page = |column: u16| PageDescriptor {
            column: ColumnId(column),
            byte_count: 1_000,
            encoding: 4,
            statistics: ColumnStatistics { min: bound(1), max: bound(2), ..ColumnStatistics::default() },
        };
        encode_descriptor(&ChunkDescriptor {
            uid: ChunkUid([chunk; 16]),
            row_count: 10,
            sealed: true,
            slice: Slice { start: 0, last: 99 },
            time_min: 0,
            time_max: 99,
            pages: (0..column_count).map(page).collect(),
        })
    }

    fn is_shared(cache: &ColumnCache, bytes: &[u8]) -> bool {
        Arc::ptr_eq(&cache.descriptor(bytes).unwrap(), &cache.descriptor(bytes).unwrap())
    }

    #[test]
    fn a_descriptor_is_decoded_once_and_counts_as_memory() {
        let (cache, bytes) = (ColumnCache::new(64 << 20), encoded(1, 100));
        let first = cache.descriptor(&bytes).unwrap();
        assert_eq!(*first, decode_descriptor(&bytes).unwrap());
        let stats = cache.stats();
        assert!(stats.bytes >= 100 * (size_of::<PageDescriptor>() as u64 + 32), "{stats:?}");
        assert!(Arc::ptr_eq(&first, &cache.descriptor(&bytes).unwrap()));
        assert_eq!(cache.stats(), stats, "a lookup of a descriptor is none of a column");
    }

    #[test]
    fn a_chunk_with_one_more_page_has_its_new_descriptor() {
        let cache = ColumnCache::new(64 << 20);
        for columns in [3, 4, 3] {
            assert_eq!(cache.descriptor(&encoded(1, columns)).unwrap().pages.len(), usize::from(columns));
        }
    }

    #[test]
    fn descriptors_are_evicted_before_they_take_more_than_their_share() {
        let cache = ColumnCache::new(4 << 20);
        for chunk in 0..=u8::MAX {
            cache.descriptor(&encoded(chunk, 100)).unwrap();
            assert!(cache.stats().bytes <= (4 << 20) / DESCRIPTORS_SHARE, "{chunk}: {:?}", cache.stats());
        }
        assert!(cache.stats().bytes > 0);
        // A cache of no bytes decodes each time.
        assert!(!is_shared(&ColumnCache::new(0), &encoded(1, 100)));
    }

    #[test]
    fn damage_is_reported_also_after_the_bytes_were_decoded() {
        let (cache, bytes) = (ColumnCache::new(64 << 20), encoded(1, 3));
        assert!(is_shared(&cache, &bytes));
        for at in 1..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(cache.descriptor(&damaged).unwrap_err().kind(), ErrorKind::Corrupt, "byte {at}");
            assert_eq!(cache.descriptor(&bytes[..at]).unwrap_err().kind(), ErrorKind::Corrupt, "{at} bytes");
        }
        assert!(is_shared(&cache, &bytes));
    }
}
