//! The series of a request: measurement and tags as written, and their meaning.

use crate::scan::{separator, tag_value_end};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// A tag of a head, as written. Its texts are UTF-8, with or without their escapes.
pub(crate) struct SentTag<'a> {
    pub(crate) key: &'a [u8],
    /// The number of the key's column, if the key was expected.
    pub(crate) column: Option<u32>,
    pub(crate) value: &'a str,
}

/// Reads the tags of a head whose measurement ends at `at`. A series usually has the keys of the previous one: how they
/// were written, and their columns, are `expected`. The error is the reason why the line is refused.
pub(crate) fn read_tags<'a>(
    head: &'a [u8],
    mut at: usize,
    expected: &[(Box<[u8]>, u32)],
) -> Result<Vec<SentTag<'a>>, String> {
    let mut tags = Vec::with_capacity(expected.len());
    while at < head.len() {
        let start = at + 1;
        let expected = expected
            .get(tags.len())
            .filter(|(key, _)| head[start..].starts_with(key) && head.get(start + key.len()) == Some(&b'='));
        let (key_end, column) = match expected {
            Some((key, column)) => (start + key.len(), Some(*column)),
            None => (key_end(head, start)?, None),
        };
        let value_start = key_end + 1;
        at = tag_value_end(head, value_start).ok_or("invalid tag format")?;
        let value = std::str::from_utf8(&head[value_start..at]).map_err(|_| "a tag value is not UTF-8")?;
        if value.is_empty() {
            return Err("missing tag value".to_owned());
        }
        tags.push(SentTag { key: &head[start..key_end], column, value });
    }
    Ok(tags)
}

/// The end of the key of a tag that begins at `start`.
fn key_end(head: &[u8], start: usize) -> Result<usize, String> {
    let end = separator(head, start, b",=");
    if head.get(end) != Some(&b'=') {
        return Err("missing tag value".to_owned());
    }
    if end == start {
        return Err("missing tag key".to_owned());
    }
    match std::str::from_utf8(&head[start..end]) {
        Ok(_) => Ok(end),
        Err(_) => Err("a tag key is not UTF-8".to_owned()),
    }
}

/// The meaning of a line's head.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) table: usize,
    /// The number of the value of each tag of the table. Tags that were added to the table later are missing.
    pub(crate) tags: Vec<u32>,
}

/// The series of a request, found by the bytes of their heads. Two heads may mean the same series.
#[derive(Default)]
pub(crate) struct SeriesTable<'a> {
    hasher: DefaultHashBuilder,
    numbers: HashTable<u32>,
    heads: Vec<&'a [u8]>,
    series: Vec<Series>,
}

impl<'a> SeriesTable<'a> {
    pub(crate) fn find(&self, head: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(head);
        self.numbers.find(hash, |number| self.heads[*number as usize] == head).copied()
    }

    /// Adds a series that [`find`](Self::find) did not find.
    pub(crate) fn add(&mut self, head: &'a [u8], series: Series) -> u32 {
        let Self { hasher, numbers, heads, .. } = self;
        let number = heads.len() as u32;
        heads.push(head);
        numbers.insert_unique(hasher.hash_one(head), number, |number| hasher.hash_one(heads[*number as usize]));
        self.series.push(series);
        number
    }

    pub(crate) fn get(&self, number: u32) -> &Series {
        &self.series[number as usize]
    }
}
