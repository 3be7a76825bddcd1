//! Building an index in bulk: rows are partitioned by the highest bits of their hashes. So each core fills buckets that
//! fit its cache, and no two cores write to the same ones.

use crate::bucket::{BUCKET_ROWS_TARGET, Bucket, tag};
use crate::chains::ChainsBuilder;
use crate::hash::HashSeed;
use crate::index::{HashIndex, bucket_behind, home};
use crate::keys::{RowKeys, by_column};
use atsdb_core::parallel::parallel_map;
use atsdb_core::{Error, ErrorKind, Result};
use std::ops::Range;

/// The number of buckets in a partition: half a megabyte, which fits the second-level cache.
const PARTITION_BUCKETS: usize = 8_192;

/// The maximum number of rows for which a single thread builds the index.
const SINGLE_THREAD_ROWS_MAX: usize = 1 << 17;

/// The maximum number of seeds that are tried. A partition only overflows with keys that were crafted for a seed.
const SEEDS_TRIED_MAX: usize = 4;

impl HashIndex {
    /// Builds the index over all rows with this number of threads. It is a [`Limit`](ErrorKind::Limit) error if the
    /// keys collide with every seed that is tried.
    pub fn build(keys: RowKeys, seed: HashSeed, threads: usize) -> Result<Self> {
        let mut seed = seed;
        for attempt in 0..SEEDS_TRIED_MAX {
            let chains = ChainsBuilder::new(keys.row_count());
            match fill(&keys, seed, threads, attempt, &chains) {
                Ok((buckets, partition_mask)) => {
                    return Ok(Self { keys, seed, buckets, partition_mask, chains: chains.finish() });
                }
                Err(error) if error.kind() == ErrorKind::Limit => seed = seed.next(),
                Err(error) => return Err(error),
            }
        }
        Err(Error::new(ErrorKind::Limit, "the keys of a hash index collide with every seed"))
    }
}

/// Returns a [`Limit`](ErrorKind::Limit) error if a partition is full.
fn fill(
    keys: &RowKeys,
    seed: HashSeed,
    threads: usize,
    attempt: usize,
    chains: &ChainsBuilder,
) -> Result<(Vec<Bucket>, usize)> {
    let row_count = keys.row_count();
    let wanted = row_count.div_ceil(BUCKET_ROWS_TARGET).max(1) << attempt;
    let partition_buckets = PARTITION_BUCKETS.min(wanted.next_power_of_two());
    let bucket_count = wanted.div_ceil(partition_buckets) * partition_buckets;
    let mut buckets = vec![Bucket::default(); bucket_count];
    let partition_mask = partition_buckets - 1;
    let threads = if row_count <= SINGLE_THREAD_ROWS_MAX { 1 } else { threads.max(1) };
    let partition_count = bucket_count / partition_buckets;
    let partitioned = parallel_map(threads, split_rows(row_count, threads), |rows| {
        Ok(PartitionedRows::partition(keys, rows, seed, partition_count))
    })?;
    parallel_map(threads, buckets.chunks_mut(partition_buckets).enumerate(), |(partition, buckets)| {
        let first = partition * partition_buckets;
        let mut target = PartitionBuilder { first, bucket_count, buckets, chains, keys };
        if !partitioned.iter().all(|partitioned| target.insert_all(partitioned.of(partition))) {
            return Err(Error::new(ErrorKind::Limit, "a partition of a hash index is full"));
        }
        Ok(())
    })?;
    Ok((buckets, partition_mask))
}

/// Splits the rows into one range for each thread.
fn split_rows(row_count: usize, threads: usize) -> Vec<Range<usize>> {
    let share = row_count.div_ceil(threads.max(1)).max(1);
    (0..row_count).step_by(share).map(|start| start..(start + share).min(row_count)).collect()
}

/// The rows of one thread, grouped by partition. An entry combines hash and row number.
struct PartitionedRows {
    entries: Vec<u64>,
    /// The end of each partition's entries.
    ends: Vec<usize>,
}

impl PartitionedRows {
    fn partition(keys: &RowKeys, rows: Range<usize>, seed: HashSeed, partition_count: usize) -> Self {
        let mut hashes = Vec::new();
        keys.hash(rows.clone(), seed, &mut hashes);
        let partition = |hash: u32| home(hash, partition_count);
        let mut ends = vec![0_usize; partition_count];
        let keyed = || rows.clone().zip(&hashes).filter(|(row, _)| !keys.is_null(*row));
        keyed().for_each(|(_, hash)| ends[partition(*hash)] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut entries = vec![0_u64; sum];
        for (row, hash) in keyed() {
            let at = &mut ends[partition(*hash)];
            entries[*at] = u64::from(*hash) << 32 | row as u64;
            *at += 1;
        }
        Self { entries, ends }
    }

    fn of(&self, partition: usize) -> &[u64] {
        let start = if partition == 0 { 0 } else { self.ends[partition - 1] };
        &self.entries[start..self.ends[partition]]
    }
}

/// Fills one partition of the buckets.
struct PartitionBuilder<'a> {
    /// The number of the partition's first bucket.
    first: usize,
    bucket_count: usize,
    buckets: &'a mut [Bucket],
    chains: &'a ChainsBuilder,
    keys: &'a RowKeys,
}

impl PartitionBuilder<'_> {
    /// Returns false if the partition is full.
    fn insert_all(&mut self, entries: &[u64]) -> bool {
        let keys = self.keys;
        by_column!(keys, keys, same => entries.iter().all(|entry| self.insert((entry >> 32) as u32, *entry as u32, &same)))
    }

    #[inline]
    fn insert(&mut self, hash: u32, row: u32, same: &impl Fn(usize, usize) -> bool) -> bool {
        let (home, tag, mask) = (home(hash, self.bucket_count) - self.first, tag(hash), self.buckets.len() - 1);
        let mut at = home;
        loop {
            let bucket = &mut self.buckets[at];
            let mut matching_slots = bucket.matching_slots(tag);
            while matching_slots != 0 {
                let other = bucket.row(matching_slots.trailing_zeros() as usize);
                if same(other as usize, row as usize) {
                    self.chains.insert_after(other, row);
                    return true;
                }
                matching_slots &= matching_slots - 1;
            }
            // A full bucket passes on every row that is not in it.
            if bucket.insert(tag, row) {
                return true;
            }
            at = bucket_behind(at, mask);
            if at == home {
                return false;
            }
        }
    }
}
