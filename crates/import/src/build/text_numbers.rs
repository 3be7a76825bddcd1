//! The distinct texts of a block, as arrays.

use crate::facts::distinct::hash;
use arrow::array::{ArrayRef, DictionaryArray, StringArray, UInt32Array};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::error::ArrowError;
use std::sync::Arc;

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
