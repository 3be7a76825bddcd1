//! One cache line of a hash index: twelve row numbers, each with one byte of its key's hash.
//!
//! A lookup reads one line. All tags are compared at once and select the rows whose column values are compared. With
//! twelve rows of other keys, about one lookup in twenty compares a value in vain.

/// The number of rows that a bucket holds.
pub(crate) const BUCKET_ROWS: usize = 12;

/// The number of rows per bucket that an index is sized for. With more, too many rows overflow into the next bucket.
pub(crate) const BUCKET_ROWS_TARGET: usize = 8;

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const SEVEN_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// One cache line. All zeros is an empty bucket.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
pub(crate) struct Bucket {
    /// One byte of the hash for each row; zero for an empty slot.
    tags: [u8; BUCKET_ROWS],
    /// Whether rows of this bucket are in the next one.
    overflows: bool,
    rows: [u32; BUCKET_ROWS],
}

/// Returns the byte of a hash that is stored. It is never zero.
#[inline]
pub(crate) fn tag(hash: u32) -> u8 {
    (hash as u8).max(1)
}

impl Bucket {
    /// Returns the slots with this tag as a bit mask.
    #[inline]
    pub(crate) fn matching_slots(&self, tag: u8) -> u32 {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = self.tags;
        let front = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let back = u64::from(u32::from_le_bytes([i, j, k, l]));
        let wanted = u64::from(tag) * LOW_BITS;
        zero_byte_mask(front ^ wanted) | (zero_byte_mask(back ^ wanted) & 0xf) << 8
    }

    #[inline]
    pub(crate) fn overflows(&self) -> bool {
        self.overflows
    }

    #[inline]
    pub(crate) fn row(&self, slot: usize) -> u32 {
        self.rows[slot.min(BUCKET_ROWS - 1)]
    }

    /// Inserts a row into a free slot. Returns false if the bucket is full, and marks it as overflowing.
    #[inline]
    pub(crate) fn insert(&mut self, tag: u8, row: u32) -> bool {
        match self.matching_slots(0).trailing_zeros() as usize {
            slot if slot < BUCKET_ROWS => {
                (self.tags[slot], self.rows[slot]) = (tag, row);
                true
            }
            _ => {
                self.overflows = true;
                false
            }
        }
    }
}

/// Returns which of eight bytes are zero, as a bit mask.
#[inline]
fn zero_byte_mask(bytes: u64) -> u32 {
    let high = !(((bytes & SEVEN_BITS) + SEVEN_BITS) | bytes | SEVEN_BITS);
    // This gathers the highest bit of each byte into one byte.
    ((high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_by_their_byte() {
        let mut bucket = Bucket::default();
        assert_eq!(bucket.matching_slots(0), 0xfff);
        for row in 0..12 {
            assert!(bucket.insert(if row % 3 == 0 { 255 } else { 1 + row as u8 }, row));
        }
        assert!(!bucket.overflows() && !bucket.insert(7, 99) && bucket.overflows());
        assert_eq!(bucket.matching_slots(255), 0b0010_0100_1001);
        assert_eq!(bucket.matching_slots(12), 1 << 11);
        assert_eq!((bucket.matching_slots(0), bucket.matching_slots(100), bucket.row(11)), (0, 0, 11));
        assert_eq!(size_of::<Bucket>(), 64);
    }
}
