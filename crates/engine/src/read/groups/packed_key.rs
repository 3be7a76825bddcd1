//! Integers that hold the keys of a row.

use std::fmt::Debug;

/// An integer that holds the codes of all keys of a row, each in its own bits.
pub(super) trait PackedKey: Copy + Debug + Default + Eq {
    /// Sets the bits of a code, starting at bit `shift`. These bits must be 0 before.
    fn put(&mut self, code: u64, shift: u32);

    /// The 64 bits that start at bit `shift`.
    fn bits_from(self, shift: u32) -> u64;

    /// Hashes the key. Each bit of the key affects all bits of the hash.
    fn hash(self) -> u64;
}

fn folded(bits: u64, seed: u64, factor: u64) -> u64 {
    let product = u128::from(bits ^ seed) * u128::from(factor);
    (product as u64) ^ (product >> 64) as u64
}

// The shift of a code of 0 bits may equal the width of the key.
impl PackedKey for u64 {
    fn put(&mut self, code: u64, shift: u32) {
        *self |= code.wrapping_shl(shift);
    }

    fn bits_from(self, shift: u32) -> u64 {
        self.checked_shr(shift).unwrap_or(0)
    }

    fn hash(self) -> u64 {
        folded(self, 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93)
    }
}

impl PackedKey for u128 {
    fn put(&mut self, code: u64, shift: u32) {
        *self |= Self::from(code).wrapping_shl(shift);
    }

    fn bits_from(self, shift: u32) -> u64 {
        self.checked_shr(shift).unwrap_or(0) as u64
    }

    fn hash(self) -> u64 {
        let high = folded((self >> 64) as u64, 0xc2b2_ae3d_27d4_eb4f, 0xa076_1d64_78bd_642f);
        PackedKey::hash(self as u64) ^ high.rotate_left(32)
    }
}
