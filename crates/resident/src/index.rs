//! A hash index over the rows of one part: it finds the rows of a key. It is written by hand, since measurements show
//! that it builds and probes faster than general hash tables; see `docs/internals/hash-index.md`.
//!
//! ```text
//! hash of a key (32 bits)   home = hash * buckets >> 32     tag = lowest 8 bits
//!
//! buckets   | 12 tags | over | 12 row numbers |  64 bytes, 8 rows on average
//!              ...  partitions of 8,192 buckets: a full one overflows into the next of its partition
//! ```
//!
//! A bucket contains the first row of each key. Further rows of the same key are chained after it ([`crate::chains`]).
//! So a column with a single value is one entry and a chain, and takes no longer to build than any other.

use crate::bucket::{Bucket, tag};
use crate::chains::Chains;
use crate::hash::HashSeed;
use crate::keys::{RowKeys, by_column};

/// The number of simultaneous lookups, whose cache misses overlap.
const WINDOW: usize = 64;

/// The absence of a row.
const NONE: u32 = u32::MAX;

/// A hash index. It is immutable.
#[derive(Debug)]
pub struct HashIndex {
    pub(crate) keys: RowKeys,
    pub(crate) seed: HashSeed,
    pub(crate) buckets: Vec<Bucket>,
    /// The number of buckets per partition minus one. The number is a power of two.
    pub(crate) partition_mask: usize,
    pub(crate) chains: Chains,
}

/// The matches of a lookup: pairs of a probe and a row, in the order of the probes; the rows of a probe ascend.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexMatches {
    /// The positions of the matching keys among the keys that were looked up.
    pub probes: Vec<u32>,
    /// The matching rows.
    pub rows: Vec<u32>,
}

/// Returns the home bucket of a hash.
#[inline]
pub(crate) fn home(hash: u32, bucket_count: usize) -> usize {
    ((u64::from(hash) * bucket_count as u64) >> 32) as usize
}

/// Returns the next bucket in the partition.
#[inline]
pub(crate) fn bucket_behind(bucket: usize, partition_mask: usize) -> usize {
    (bucket & !partition_mask) | ((bucket + 1) & partition_mask)
}

impl HashIndex {
    /// Returns the size of the index in bytes. The columns are not included.
    pub fn byte_count(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>() + self.chains.byte_count()
    }

    /// Returns whether any key occurs twice.
    pub fn has_duplicates(&self) -> bool {
        !self.chains.is_empty()
    }

    /// Looks up many keys and appends their rows to `found`: it hashes all keys, then reads all buckets, then all rows,
    /// so that memory latency overlaps. A key with a NULL has no rows.
    pub fn find(&self, keys: &RowKeys, found: &mut IndexMatches) {
        if !self.keys.fits(keys) || self.buckets.is_empty() {
            return;
        }
        by_column!(self.keys, keys, same => {
            let mut hashes = Vec::with_capacity(WINDOW);
            let mut first = 0;
            while first < keys.row_count() {
                let end = (first + WINDOW).min(keys.row_count());
                hashes.clear();
                keys.hash(first..end, self.seed, &mut hashes);
                self.find_window(keys, first, &hashes, &same, found);
                first = end;
            }
        });
    }

    #[inline]
    fn find_window(
        &self,
        keys: &RowKeys,
        first: usize,
        hashes: &[u32],
        same: &impl Fn(usize, usize) -> bool,
        found: &mut IndexMatches,
    ) {
        let mut candidates = [NONE; WINDOW];
        let mut ends = [false; WINDOW];
        for ((hash, candidate), ends) in hashes.iter().zip(&mut candidates).zip(&mut ends) {
            let bucket = &self.buckets[home(*hash, self.buckets.len())];
            let matching_slots = bucket.matching_slots(tag(*hash));
            let row = bucket.row(matching_slots.trailing_zeros() as usize);
            *candidate = if matching_slots == 0 { NONE } else { row };
            *ends = (matching_slots == 0) & !bucket.overflows();
        }
        let mut hits = [false; WINDOW];
        for ((position, candidate), hit) in candidates.iter().enumerate().take(hashes.len()).zip(&mut hits) {
            *hit = *candidate != NONE && same(*candidate as usize, first + position);
        }
        for (position, hash) in hashes.iter().enumerate() {
            let probe = first + position;
            if ends[position] || keys.is_null(probe) {
                continue;
            }
            let row = match hits[position] {
                true => Some(candidates[position]),
                false => self.search(*hash, |row| same(row as usize, probe)),
            };
            if let Some(row) = row {
                self.push_chain(probe, row, found);
            }
        }
    }

    /// Compares every row that may have the key.
    fn search(&self, hash: u32, same: impl Fn(u32) -> bool) -> Option<u32> {
        let (home, tag) = (home(hash, self.buckets.len()), tag(hash));
        let mut at = home;
        loop {
            let bucket = &self.buckets[at];
            let mut matching_slots = bucket.matching_slots(tag);
            while matching_slots != 0 {
                let row = bucket.row(matching_slots.trailing_zeros() as usize);
                if same(row) {
                    return Some(row);
                }
                matching_slots &= matching_slots - 1;
            }
            at = bucket_behind(at, self.partition_mask);
            if !bucket.overflows() || at == home {
                return None;
            }
        }
    }

    #[inline]
    fn push_chain(&self, probe: usize, head: u32, found: &mut IndexMatches) {
        found.probes.push(probe as u32);
        found.rows.push(head);
        let start = found.rows.len();
        found.rows.extend(self.chains.behind(head));
        found.probes.resize(found.rows.len(), probe as u32);
        // The head is the first row of its key. The other rows were inserted right after it, so they are in reverse
        // order.
        found.rows[start..].reverse();
    }
}

/// Bulk operations.
impl HashIndex {
    /// Returns for each row the first row of its key, or its own number if it has no key.
    pub(crate) fn heads(&self) -> Vec<u32> {
        let mut heads: Vec<u32> = (0..self.keys.row_count() as u32).collect();
        if self.chains.is_empty() {
            return heads;
        }
        let mut is_behind = vec![false; heads.len()];
        self.chains.all_followers().for_each(|row| is_behind[row as usize] = true);
        for head in (0..heads.len()).filter(|row| !is_behind[*row]) {
            self.chains.behind(head as u32).for_each(|row| heads[row as usize] = head as u32);
        }
        heads
    }

    /// Returns a row among some rows whose key an earlier one of them has.
    pub(crate) fn duplicate_among(&self, is_one: impl Fn(usize) -> bool) -> Option<usize> {
        if self.chains.is_empty() {
            return None;
        }
        let heads = self.heads();
        let mut is_known = vec![false; heads.len()];
        let mut keyed = (0..heads.len()).filter(|row| is_one(*row) && !self.keys.is_null(*row));
        keyed.find(|row| std::mem::replace(&mut is_known[heads[*row] as usize], true))
    }

    /// Returns the first row whose key an earlier row has.
    pub(crate) fn first_duplicate(&self) -> Option<u32> {
        self.chains.all_followers().min()
    }
}
