//! One cache line of an index: twelve row numbers, each with a byte of its key's hash.
//!
//! A lookup reads one line. The bytes, compared all at once, name the rows that are worth a look at the column; of
//! twelve rows with other keys about one in twenty lookups is misled by them.

/// Rows in one bucket.
pub(crate) const BUCKET_ROWS: usize = 12;

/// Rows that a bucket is meant to have: more, and too many of them overflow into the next.
pub(crate) const BUCKET_ROWS_MEANT: usize = 8;

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const SEVEN_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// One cache line. Zeros are an empty bucket.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
pub(crate) struct Bucket {
    /// A byte of the hash for each row; zero where there is none.
    tags: [u8; BUCKET_ROWS],
    /// Whether rows that belong here stand in the next bucket.
    overflows: bool,
    rows: [u32; BUCKET_ROWS],
}

/// The byte of a hash that is kept, never zero.
#[inline]
pub(crate) fn tag_of(hash: u32) -> u8 {
    (hash as u8).max(1)
}

impl Bucket {
    /// The slots with this tag, as bits.
    #[inline]
    pub(crate) fn slots(&self, tag: u8) -> u32 {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = self.tags;
        let front = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let back = u64::from(u32::from_le_bytes([i, j, k, l]));
        let wanted = u64::from(tag) * LOW_BITS;
        zero_bytes(front ^ wanted) | (zero_bytes(back ^ wanted) & 0xf) << 8
    }

    #[inline]
    pub(crate) fn overflows(&self) -> bool {
        self.overflows
    }

    #[inline]
    pub(crate) fn row(&self, slot: usize) -> u32 {
        self.rows[slot.min(BUCKET_ROWS - 1)]
    }

    /// Puts a row into a free slot; false if there is none, which it then remembers.
    #[inline]
    pub(crate) fn put(&mut self, tag: u8, row: u32) -> bool {
        match self.slots(0).trailing_zeros() as usize {
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

/// Which of eight bytes are zero, as bits.
#[inline]
fn zero_bytes(bytes: u64) -> u32 {
    let high = !(((bytes & SEVEN_BITS) + SEVEN_BITS) | bytes | SEVEN_BITS);
    // Gathers the highest bit of each byte into one byte.
    ((high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_by_their_byte() {
        let mut bucket = Bucket::default();
        assert_eq!(bucket.slots(0), 0xfff);
        for row in 0..12 {
            assert!(bucket.put(if row % 3 == 0 { 255 } else { 1 + row as u8 }, row));
        }
        assert!(!bucket.overflows() && !bucket.put(7, 99) && bucket.overflows());
        assert_eq!(bucket.slots(255), 0b0010_0100_1001);
        assert_eq!(bucket.slots(12), 1 << 11);
        assert_eq!((bucket.slots(0), bucket.slots(100), bucket.row(11)), (0, 0, 11));
        assert_eq!(size_of::<Bucket>(), 64);
    }
}
