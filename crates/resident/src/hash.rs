//! Seeded 32-bit hashes. Keys that collide can only be chosen by someone who knows the seed.

use twox_hash::XxHash3_64;

/// The secret seed of the hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashSeed([u64; 2]);

/// An odd number without a pattern: the fractional part of the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl HashSeed {
    /// Creates a seed from random bits.
    pub fn new(bits: [u8; 16]) -> Self {
        let bits = u128::from_le_bytes(bits);
        Self([bits as u64, (bits >> 64) as u64])
    }

    /// Derives another seed, for another attempt.
    pub(crate) fn next(self) -> Self {
        Self([fold(self.0[0] ^ GOLDEN, self.0[1] | 1), self.0[1].wrapping_add(GOLDEN)])
    }

    /// Hashes a number.
    #[inline]
    pub(crate) fn number(self, value: u64) -> u64 {
        fold(fold(value ^ self.0[0], GOLDEN) ^ self.0[1], self.0[0] | 1)
    }

    /// Hashes bytes.
    #[inline]
    pub(crate) fn bytes(self, value: &[u8]) -> u64 {
        XxHash3_64::oneshot_with_seed(self.0[0], value) ^ self.0[1]
    }

    /// Combines the hash of the preceding columns of a key with the hash of the next column.
    #[inline]
    pub(crate) fn join(self, before: u64, next: u64) -> u64 {
        fold(before ^ self.0[1], GOLDEN).rotate_left(23) ^ next
    }
}

/// Multiplies and folds both halves of the product into one.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}
