//! Chains of the rows of one key: for each row that has a successor, the row that follows.
//!
//! ```text
//! has_next  | 64 bits |  a bit for each row
//! before    | 32 bits |  for each 64 rows, how many rows before them have a next one
//! next      | 32 bits |  for each row that has a next one, in the order of the rows
//! ```
//!
//! If no key occurs twice, nothing is stored. If all do, each row takes one row number and a bit and a half.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of rows per word of bits.
const WORD_ROWS: usize = u64::BITS as usize;

/// The chains of an index. They are immutable.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    has_next: Vec<u64>,
    before: Vec<u32>,
    next: Vec<u32>,
}

impl Chains {
    /// Returns whether no key occurs twice.
    pub(crate) fn is_empty(&self) -> bool {
        self.next.is_empty()
    }

    /// Returns the row that follows another.
    #[inline]
    pub(crate) fn next(&self, row: u32) -> Option<u32> {
        let (word, bit) = (row as usize / WORD_ROWS, row as usize % WORD_ROWS);
        let bits = *self.has_next.get(word)?;
        if bits >> bit & 1 == 0 {
            return None;
        }
        let behind_in_word = (bits & ((1 << bit) - 1)).count_ones();
        Some(self.next[(self.before[word] + behind_in_word) as usize])
    }

    /// Returns all rows that follow another, in the order of the chain.
    pub(crate) fn behind(&self, row: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(self.next(row), |row| self.next(*row))
    }

    /// Returns every row that follows another, in no particular order.
    pub(crate) fn all_followers(&self) -> impl Iterator<Item = u32> {
        self.next.iter().copied()
    }

    pub(crate) fn byte_count(&self) -> usize {
        self.has_next.len() * size_of::<u64>() + (self.before.len() + self.next.len()) * size_of::<u32>()
    }
}

/// Builds chains with one entry for every row: the next row of its key plus one, or 0. The entries are allocated when
/// the first key occurs twice. All rows of a key are handled by one thread.
pub(crate) struct ChainsBuilder {
    row_count: usize,
    next: OnceLock<Vec<AtomicU32>>,
}

impl ChainsBuilder {
    pub(crate) fn new(row_count: usize) -> Self {
        Self { row_count, next: OnceLock::new() }
    }

    /// Inserts a row right after the first one of its key.
    pub(crate) fn insert_after(&self, head: u32, row: u32) {
        let next = self.next.get_or_init(|| (0..self.row_count).map(|_| AtomicU32::new(0)).collect());
        let behind = next[head as usize].swap(row + 1, Ordering::Relaxed);
        next[row as usize].store(behind, Ordering::Relaxed);
    }

    /// Returns the finished, compact chains.
    pub(crate) fn finish(self) -> Chains {
        let Some(next) = self.next.into_inner() else { return Chains::default() };
        let word_count = next.len().div_ceil(WORD_ROWS);
        let (mut has_next, mut before) = (Vec::with_capacity(word_count), Vec::with_capacity(word_count));
        let mut count = 0;
        for rows in next.chunks(WORD_ROWS) {
            let is_some = |next: &AtomicU32| u64::from(next.load(Ordering::Relaxed) != 0);
            let bits = rows.iter().rev().fold(0, |bits, next| bits << 1 | is_some(next));
            has_next.push(bits);
            before.push(count);
            count += bits.count_ones();
        }
        // This reuses the allocation.
        let mut next: Vec<u32> = next.into_iter().filter_map(|next| next.into_inner().checked_sub(1)).collect();
        next.shrink_to_fit();
        Chains { has_next, before, next }
    }
}
