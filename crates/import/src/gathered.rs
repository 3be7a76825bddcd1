//! What the cells of one column are gathered into.

use crate::distinct::Distinct;
use crate::null::NullCounts;
use crate::record::Field;
use arrow::array::ArrayRef;
use arrow::buffer::{BooleanBuffer, NullBuffer};

/// What is wrong with one value: its row, where its text is, and why.
pub(crate) struct Wrong {
    pub(crate) row: usize,
    pub(crate) field: Field,
    pub(crate) reason: String,
}

/// Values of one column as they are gathered.
pub(crate) struct Gathered {
    pub(crate) array: ArrayRef,
    pub(crate) wrong: Vec<Wrong>,
    pub(crate) distinct: Option<(Distinct, u64)>,
    /// What was NULL, or kept though it is usually NULL.
    pub(crate) nulls: NullCounts,
    /// Numbers that have more digits than the column keeps.
    pub(crate) rounded: Rounded,
}

/// Numbers that were rounded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rounded {
    pub(crate) count: u64,
    /// The first of them, as written.
    pub(crate) first: Option<String>,
}

impl Rounded {
    pub(crate) fn add(&mut self, other: &Self) {
        self.count += other.count;
        if self.first.is_none() {
            self.first.clone_from(&other.first);
        }
    }
}

/// Values, NULLs and what is wrong.
pub(crate) struct Values<T> {
    pub(crate) values: Vec<T>,
    /// Made with the first NULL.
    pub(crate) valid: Option<Vec<bool>>,
    pub(crate) wrong: Vec<Wrong>,
    /// Which texts were NULL, or kept.
    pub(crate) counts: NullCounts,
}

impl<T> Values<T> {
    /// Of no values yet.
    pub(crate) fn with_capacity(row_count: usize) -> Self {
        Self { values: Vec::with_capacity(row_count), valid: None, wrong: Vec::new(), counts: NullCounts::default() }
    }

    /// Which values are there.
    pub(crate) fn nulls(valid: Option<Vec<bool>>) -> Option<NullBuffer> {
        valid.map(|valid| NullBuffer::new(BooleanBuffer::from(valid)))
    }
}
