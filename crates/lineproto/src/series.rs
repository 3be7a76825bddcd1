//! The series of a request: measurement and tags as written, and their meaning.

use crate::scan::{separator, tag_value_end, unescape};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::borrow::Cow;
use std::hash::BuildHasher;

/// The key of a tag.
pub(crate) enum TagKey<'a> {
    /// The number of its column: the key is the one that was expected.
    Expected(u32),
    Named(Cow<'a, str>),
}

/// A tag of a head.
pub(crate) struct SentTag<'a> {
    /// The key as written.
    pub(crate) written: &'a [u8],
    pub(crate) key: TagKey<'a>,
    pub(crate) value: Cow<'a, str>,
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
        let (written, key, value) = match expected {
            Some((key, column)) => {
                let value = start + key.len() + 1;
                let end = tag_value_end(head, value);
                at = end.unwrap_or(head.len());
                (&head[start..value - 1], TagKey::Expected(*column), end.map(|end| &head[value..end]))
            }
            None => {
                at = separator(head, start, b",");
                let pair = &head[start..at];
                let equals = separator(pair, 0, b"=");
                let key = utf8(unescape(&pair[..equals]), "a tag key")?;
                let value = pair.get(equals + 1..).ok_or("missing tag value")?;
                if key.is_empty() {
                    return Err("missing tag key".to_owned());
                }
                let is_valid = tag_value_end(value, 0) == Some(value.len());
                (&pair[..equals], TagKey::Named(key), is_valid.then_some(value))
            }
        };
        match value {
            None => return Err("invalid tag format".to_owned()),
            Some([]) => return Err("missing tag value".to_owned()),
            Some(value) => tags.push(SentTag { written, key, value: utf8(unescape(value), "a tag value")? }),
        }
    }
    Ok(tags)
}

/// A part of a line as text. The error is the reason why the line is refused.
pub(crate) fn utf8<'a>(bytes: Cow<'a, [u8]>, what: &str) -> Result<Cow<'a, str>, String> {
    let refuse = || format!("{what} is not UTF-8");
    match bytes {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| refuse()),
        Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|_| refuse()),
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
