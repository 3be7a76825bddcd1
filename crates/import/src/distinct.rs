//! Distinct texts: counted over an import by their hashes, numbered within a block.

use arrow::array::{ArrayRef, DictionaryArray, StringArray, UInt32Array};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::error::ArrowError;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// With more distinct texts a dictionary saves no space.
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

/// The distinct texts of one column of one block, numbered in order of appearance.
#[derive(Debug)]
pub(crate) struct TextNumbers {
    /// Number + 1 of the text whose hash leads here; 0 is free. A power of two long, at most half full.
    slots: Vec<u32>,
    hashes: Vec<u64>,
    offsets: Vec<i32>,
    bytes: Vec<u8>,
}

impl TextNumbers {
    pub(crate) fn new() -> Self {
        Self { slots: vec![0; 1_024], hashes: Vec::new(), offsets: vec![0], bytes: Vec::new() }
    }

    fn text(&self, number: usize) -> &[u8] {
        &self.bytes[self.offsets[number] as usize..self.offsets[number + 1] as usize]
    }

    /// The number of a text.
    #[inline]
    pub(crate) fn number(&mut self, text: &[u8]) -> u32 {
        let hash = hash(text);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => break,
                taken => {
                    let number = taken as usize - 1;
                    if self.hashes[number] == hash && self.text(number) == text {
                        return taken - 1;
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
        let number = self.hashes.len() as u32;
        self.hashes.push(hash);
        self.bytes.extend_from_slice(text);
        self.offsets.push(self.bytes.len() as i32);
        self.slots[slot] = number + 1;
        if self.hashes.len() * 2 > self.slots.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        self.slots = vec![0; mask + 1];
        for (number, hash) in self.hashes.iter().enumerate() {
            let mut slot = *hash as usize & mask;
            while self.slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = number as u32 + 1;
        }
    }

    /// The hashes of all texts.
    pub(crate) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// Builds the column from these numbers and the texts that they refer to.
    pub(crate) fn into_array(self, numbers: Vec<u32>, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let texts = text_array(self.offsets, self.bytes, None)?;
        Ok(Arc::new(DictionaryArray::try_new(UInt32Array::try_new(numbers.into(), nulls)?, Arc::new(texts))?))
    }
}

/// A text array of offsets and bytes.
pub(crate) fn text_array(
    offsets: Vec<i32>,
    bytes: Vec<u8>,
    nulls: Option<NullBuffer>,
) -> Result<StringArray, ArrowError> {
    StringArray::try_new(OffsetBuffer::new(ScalarBuffer::from(offsets)), Buffer::from_vec(bytes), nulls)
}
