//! The rows of one key, one after the other: for each row that has a next one, which that is.
//!
//! ```text
//! has_next  | 64 bits |  a bit for each row
//! before    | 32 bits |  for each 64 rows, how many rows before them have a next one
//! next      | 32 bits |  for each row that has a next one, in the order of the rows
//! ```
//!
//! Where no key is there twice nothing is kept; where all are, a place for each row and a bit and a half.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Rows whose bits are one word.
const WORD_ROWS: usize = u64::BITS as usize;

/// The chains of an index. Never change.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    has_next: Vec<u64>,
    before: Vec<u32>,
    next: Vec<u32>,
}

impl Chains {
    /// Whether no key is there twice.
    pub(crate) fn is_empty(&self) -> bool {
        self.next.is_empty()
    }

    /// The row behind one.
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

    /// All rows behind one, in the order of the chain.
    pub(crate) fn behind(&self, row: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(self.next(row), |row| self.next(*row))
    }

    /// Every row that is behind another, in no order.
    pub(crate) fn all_behind(&self) -> impl Iterator<Item = u32> {
        self.next.iter().copied()
    }

    pub(crate) fn byte_count(&self) -> usize {
        self.has_next.len() * size_of::<u64>() + (self.before.len() + self.next.len()) * size_of::<u32>()
    }
}

/// Chains that grow, with a place for every row: the next row of its key plus one, or 0. It is made when the first key is
/// there twice. All rows of a key are one thread's work.
pub(crate) struct Growing {
    row_count: usize,
    next: OnceLock<Vec<AtomicU32>>,
}

impl Growing {
    pub(crate) fn new(row_count: usize) -> Self {
        Self { row_count, next: OnceLock::new() }
    }

    /// Puts a row right behind the first one of its key.
    pub(crate) fn put_behind(&self, head: u32, row: u32) {
        let next = self.next.get_or_init(|| (0..self.row_count).map(|_| AtomicU32::new(0)).collect());
        let behind = next[head as usize].swap(row + 1, Ordering::Relaxed);
        next[row as usize].store(behind, Ordering::Relaxed);
    }

    /// As they stay.
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
        // In the place that they have.
        let mut next: Vec<u32> = next.into_iter().filter_map(|next| next.into_inner().checked_sub(1)).collect();
        next.shrink_to_fit();
        Chains { has_next, before, next }
    }
}
