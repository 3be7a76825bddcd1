//! The series of a request: measurement and tags as written, and their meaning.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

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
