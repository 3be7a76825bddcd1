//! Integers that hold the keys of a row.

use std::fmt::Debug;

/// An integer that holds the codes of all keys of a row, one beside the other.
pub(super) trait PackedKey: Copy + Debug + Default + Eq {
    /// Adds a code from a bit on, where no bit was set.
    fn put(&mut self, code: u64, shift: u32);

    /// The bits from this one on, as far as 64 bits hold them.
    fn bits_from(self, shift: u32) -> u64;

    /// Each bit of the key reaches all bits of the hash.
    fn hash(self) -> u64;
}

fn folded(bits: u64, seed: u64, factor: u64) -> u64 {
    let product = u128::from(bits ^ seed) * u128::from(factor);
    (product as u64) ^ (product >> 64) as u64
}

// A code of no bits may stand behind the last bit.
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
