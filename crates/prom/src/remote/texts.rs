//! Texts with numbers.

use arrow::array::StringArray;
use arrow::buffer::{Buffer, OffsetBuffer};
use atsdb_core::{Error, ErrorKind, Result};
use hashbrown::HashTable;
use twox_hash::XxHash3_64;

/// Distinct texts, numbered from 0 in the order of their arrival. They are stored one after the other in one buffer.
#[derive(Debug, Default)]
pub(super) struct Texts {
    all: String,
    ends: Vec<usize>,
    numbers: HashTable<u32>,
}

/// Texts as one array. It is an error if they have 2 GiB or more: no array holds so many bytes.
pub(super) fn text_array<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Result<StringArray> {
    check_size(texts.clone().map(str::len).sum())?;
    Ok(StringArray::from_iter_values(texts))
}

fn check_size(byte_count: usize) -> Result<()> {
    if i32::try_from(byte_count).is_ok() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Limit, "the labels of the request have 2 GiB or more")
        .with_hint("send the samples in smaller requests"))
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

    pub(super) fn to_array(&self) -> Result<StringArray> {
        check_size(self.all.len())?;
        let lengths = self.iter().map(str::len);
        Ok(StringArray::try_new(OffsetBuffer::from_lengths(lengths), Buffer::from(self.all.as_bytes()), None)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_text_than_an_array_holds_is_an_error() {
        let mebibyte = "x".repeat(1 << 20);
        let error = text_array(std::iter::repeat_n(mebibyte.as_str(), 2048)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        let array = text_array(["a", "", "b"].into_iter()).unwrap();
        assert_eq!(array, StringArray::from(vec!["a", "", "b"]));
    }
}
