//! Texts with numbers.

use arrow::array::StringArray;
use arrow::buffer::{Buffer, OffsetBuffer};
use arrow::error::ArrowError;
use hashbrown::HashTable;
use twox_hash::XxHash3_64;

/// Distinct texts, numbered from 0 in the order of their arrival. They are stored one after the other in one buffer.
#[derive(Debug, Default)]
pub(super) struct Texts {
    all: String,
    ends: Vec<usize>,
    numbers: HashTable<u32>,
}

fn at<'a>(all: &'a str, ends: &[usize], index: usize) -> &'a str {
    let start = index.checked_sub(1).map_or(0, |before| ends[before]);
    &all[start..ends[index]]
}

impl Texts {
    /// The number of the text that is written. It is new if the number is the largest.
    pub(super) fn number(&mut self, write: impl FnOnce(&mut String)) -> u32 {
        let start = self.all.len();
        write(&mut self.all);
        let Self { all, ends, numbers } = self;
        let text = &all[start..];
        let hash = |text: &str| XxHash3_64::oneshot(text.as_bytes());
        let own = hash(text);
        if let Some(number) = numbers.find(own, |number| at(all, ends, *number as usize) == text) {
            let number = *number;
            all.truncate(start);
            return number;
        }
        let number = ends.len() as u32;
        ends.push(all.len());
        numbers.insert_unique(own, number, |number| hash(at(all, ends, *number as usize)));
        number
    }

    pub(super) fn byte_count(&self) -> usize {
        self.all.len()
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.ends.len()).map(|number| at(&self.all, &self.ends, number))
    }

    pub(super) fn to_array(&self) -> Result<StringArray, ArrowError> {
        let lengths = self.iter().map(str::len);
        StringArray::try_new(OffsetBuffer::from_lengths(lengths), Buffer::from(self.all.as_bytes()), None)
    }
}
