//! A hash index over the rows of one part: which rows have this key?
//!
//! ```text
//! hash of a key (32 bits)   home = hash * buckets >> 32     tag = lowest 8 bits
//!
//! buckets   | 12 tags | over | 12 row numbers |  64 bytes, 8 rows on average
//!              ...  partitions of 8,192 buckets: a full one goes on in the next one of its partition
//! ```
//!
//! A bucket names the first row of each key; rows of the same key are chained behind it ([`crate::chains`]). So a column of
//! one value is one entry and a chain, and takes no longer to build than any other.

use crate::bucket::{Bucket, tag_of};
use crate::chains::Chains;
use crate::hash::Seed;
use crate::keys::{Keys, by_column};

/// Lookups that are under way at once: their cache misses overlap.
const WINDOW: usize = 64;

/// No row.
const NONE: u32 = u32::MAX;

/// A hash index. Never changes.
#[derive(Debug)]
pub struct HashIndex {
    pub(crate) keys: Keys,
    pub(crate) seed: Seed,
    pub(crate) buckets: Vec<Bucket>,
    /// Buckets of one partition less one; their number is a power of two.
    pub(crate) partition_mask: usize,
    pub(crate) chains: Chains,
}

/// Which keys were found in which rows: pairs, in the order of the keys, the rows of a key ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matches {
    /// Positions among the keys that were asked for.
    pub probes: Vec<u32>,
    /// The rows.
    pub rows: Vec<u32>,
}

/// The bucket that a hash belongs into.
#[inline]
pub(crate) fn home(hash: u32, bucket_count: usize) -> usize {
    ((u64::from(hash) * bucket_count as u64) >> 32) as usize
}

/// The bucket behind one, in its partition.
#[inline]
pub(crate) fn bucket_behind(bucket: usize, partition_mask: usize) -> usize {
    (bucket & !partition_mask) | ((bucket + 1) & partition_mask)
}

impl HashIndex {
    /// The bytes that the index itself takes; the columns are not its own.
    pub fn byte_count(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>() + self.chains.byte_count()
    }

    /// Whether a key is there twice.
    pub fn has_duplicates(&self) -> bool {
        !self.chains.is_empty()
    }

    /// Finds the rows of many keys: hash all, read all their buckets, read all their rows, so that the processor waits
    /// for memory once for many and not once for each. A key with a NULL has no rows.
    pub fn find(&self, keys: &Keys, found: &mut Matches) {
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
        keys: &Keys,
        first: usize,
        hashes: &[u32],
        same: &impl Fn(usize, usize) -> bool,
        found: &mut Matches,
    ) {
        let mut candidates = [NONE; WINDOW];
        let mut ends = [false; WINDOW];
        for ((hash, candidate), ends) in hashes.iter().zip(&mut candidates).zip(&mut ends) {
            let bucket = &self.buckets[home(*hash, self.buckets.len())];
            let slots = bucket.slots(tag_of(*hash));
            let row = bucket.row(slots.trailing_zeros() as usize);
            *candidate = if slots == 0 { NONE } else { row };
            *ends = (slots == 0) & !bucket.overflows();
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

    /// Looks at every row that may have the key.
    fn search(&self, hash: u32, same: impl Fn(u32) -> bool) -> Option<u32> {
        let (home, tag) = (home(hash, self.buckets.len()), tag_of(hash));
        let mut at = home;
        loop {
            let bucket = &self.buckets[at];
            let mut slots = bucket.slots(tag);
            while slots != 0 {
                let row = bucket.row(slots.trailing_zeros() as usize);
                if same(row) {
                    return Some(row);
                }
                slots &= slots - 1;
            }
            at = bucket_behind(at, self.partition_mask);
            if !bucket.overflows() || at == home {
                return None;
            }
        }
    }

    #[inline]
    fn push_chain(&self, probe: usize, head: u32, found: &mut Matches) {
        found.probes.push(probe as u32);
        found.rows.push(head);
        let start = found.rows.len();
        found.rows.extend(self.chains.behind(head));
        found.probes.resize(found.rows.len(), probe as u32);
        // The head is the first of its key, and rows came behind it one before the other.
        found.rows[start..].reverse();
    }
}

/// What bulk work asks of an index.
impl HashIndex {
    /// For each row the first row of its key; its own number where it has no key.
    pub(crate) fn heads(&self) -> Vec<u32> {
        let mut heads: Vec<u32> = (0..self.keys.row_count() as u32).collect();
        if self.chains.is_empty() {
            return heads;
        }
        let mut is_behind = vec![false; heads.len()];
        self.chains.all_behind().for_each(|row| is_behind[row as usize] = true);
        for head in (0..heads.len()).filter(|row| !is_behind[*row]) {
            self.chains.behind(head as u32).for_each(|row| heads[row as usize] = head as u32);
        }
        heads
    }

    /// The first row whose key an earlier row has.
    pub(crate) fn second_of_a_key(&self) -> Option<u32> {
        self.chains.all_behind().min()
    }
}
