//! Building an index in bulk: rows are dealt out by the highest bits of their hashes, so that each core then fills
//! buckets that its cache holds, and no two cores ever write to the same.

use crate::bucket::{BUCKET_ROWS_MEANT, Bucket, tag_of};
use crate::chains::Growing;
use crate::hash::Seed;
use crate::index::{HashIndex, bucket_behind, home};
use crate::keys::{Keys, by_column};
use crate::parallel::{in_parallel, shares};
use atsdb_core::{Error, ErrorKind, Result};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Buckets of one partition: half a megabyte, which the second-level cache holds.
const PARTITION_BUCKETS: usize = 8_192;

/// Fewer rows are one thread's work.
const ROWS_ALONE_MAX: usize = 1 << 17;

/// How often another seed is tried when a partition is full, which takes keys that were made for it.
const ATTEMPTS: usize = 4;

impl HashIndex {
    /// Indexes all rows, by this many threads.
    pub fn build(keys: Keys, seed: Seed, threads: usize) -> Result<Self> {
        let mut seed = seed;
        for attempt in 0..ATTEMPTS {
            let chains = Growing::new(keys.row_count());
            if let Some((buckets, partition_mask)) = fill(&keys, seed, threads, attempt, &chains) {
                return Ok(Self { keys, seed, buckets, partition_mask, chains: chains.finish() });
            }
            seed = seed.next();
        }
        Err(Error::new(ErrorKind::Limit, "the keys of a hash index collide, whatever they are hashed with"))
    }
}

/// `None` if a partition is full.
fn fill(keys: &Keys, seed: Seed, threads: usize, attempt: usize, chains: &Growing) -> Option<(Vec<Bucket>, usize)> {
    let row_count = keys.row_count();
    let wanted = row_count.div_ceil(BUCKET_ROWS_MEANT).max(1) << attempt;
    let partition_buckets = PARTITION_BUCKETS.min(wanted.next_power_of_two());
    let bucket_count = wanted.div_ceil(partition_buckets) * partition_buckets;
    let mut buckets = vec![Bucket::default(); bucket_count];
    let partition_mask = partition_buckets - 1;
    let threads = if row_count <= ROWS_ALONE_MAX { 1 } else { threads.max(1) };
    let partition_count = bucket_count / partition_buckets;
    let is_full = AtomicBool::new(false);
    let dealt: Vec<Dealt> =
        in_parallel(shares(row_count, threads), |rows| Dealt::deal(keys, rows, seed, partition_count));
    let partitions = Mutex::new(buckets.chunks_mut(partition_buckets).enumerate());
    let work = |_: usize| {
        loop {
            // Held only to take the next one.
            let next = partitions.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((partition, buckets)) = next.filter(|_| !is_full.load(Ordering::Relaxed)) else { break };
            let mut target = Target { first: partition * partition_buckets, bucket_count, buckets, chains, keys };
            if !dealt.iter().all(|dealt| target.put_all(dealt.of(partition))) {
                is_full.store(true, Ordering::Relaxed);
            }
        }
    };
    in_parallel((0..threads).collect(), work);
    (!is_full.into_inner()).then_some((buckets, partition_mask))
}

/// The rows of one thread, by partition: hash and row number in one.
struct Dealt {
    entries: Vec<u64>,
    /// Where the entries of each partition end.
    ends: Vec<usize>,
}

impl Dealt {
    fn deal(keys: &Keys, rows: Range<usize>, seed: Seed, partition_count: usize) -> Self {
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

/// One partition of the buckets.
struct Target<'a> {
    /// The number of its first bucket.
    first: usize,
    bucket_count: usize,
    buckets: &'a mut [Bucket],
    chains: &'a Growing,
    keys: &'a Keys,
}

impl Target<'_> {
    /// False if it is full.
    fn put_all(&mut self, entries: &[u64]) -> bool {
        let keys = self.keys;
        by_column!(keys, keys, same => entries.iter().all(|entry| self.put((entry >> 32) as u32, *entry as u32, &same)))
    }

    #[inline]
    fn put(&mut self, hash: u32, row: u32, same: &impl Fn(usize, usize) -> bool) -> bool {
        let (home, tag, mask) = (home(hash, self.bucket_count) - self.first, tag_of(hash), self.buckets.len() - 1);
        let mut at = home;
        loop {
            let bucket = &mut self.buckets[at];
            let mut slots = bucket.slots(tag);
            while slots != 0 {
                let other = bucket.row(slots.trailing_zeros() as usize);
                if same(other as usize, row as usize) {
                    self.chains.put_behind(other, row);
                    return true;
                }
                slots &= slots - 1;
            }
            // A bucket that is full sends on every row that is not in it.
            if bucket.put(tag, row) {
                return true;
            }
            at = bucket_behind(at, mask);
            if at == home {
                return false;
            }
        }
    }
}
