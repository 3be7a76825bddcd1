//! Distinct texts, counted over an import by their hashes.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// The maximum number of distinct texts that are counted. With more, a dictionary saves no space.
pub(crate) const DISTINCT_MAX: usize = 1_000_000;

/// A hash of 64 bits, good enough to count by: with a million texts the chance that two share one is 1 in 37 million.
#[inline]
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ bytes.len() as u64;
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word), 0xd6e8_feb8_6659_fd93);
    }
    let tail = tail.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    fold(fold(state ^ tail, 0xa076_1d64_78bd_642f), 0xe703_7ed1_a0b4_28db)
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// A hasher that returns a 64-bit hash unchanged.
#[derive(Debug, Default)]
pub(crate) struct PrecomputedHash(u64);

impl Hasher for PrecomputedHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Counts distinct texts up to [`DISTINCT_MAX`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Distinct {
    hashes: HashSet<u64, BuildHasherDefault<PrecomputedHash>>,
    is_full: bool,
}

impl Distinct {
    #[inline]
    pub(crate) fn add(&mut self, hash: u64) {
        if !self.is_full && self.hashes.insert(hash) && self.hashes.len() > DISTINCT_MAX {
            self.give_up();
        }
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        if other.is_full {
            self.give_up();
        } else if !self.is_full {
            other.hashes.iter().for_each(|hash| self.add(*hash));
        }
    }

    /// Stops counting because there are too many.
    pub(crate) fn give_up(&mut self) {
        (self.hashes, self.is_full) = (HashSet::default(), true);
    }

    /// The number of distinct texts. `None` if there are too many.
    pub(crate) fn count(&self) -> Option<usize> {
        if self.is_full { None } else { Some(self.hashes.len()) }
    }
}
