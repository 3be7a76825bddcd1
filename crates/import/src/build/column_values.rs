//! The values of one column of a block, collected cell by cell.

use crate::facts::distinct::Distinct;
use crate::facts::nulls::NullCounts;
use crate::records::Field;
use arrow::array::ArrayRef;
use arrow::buffer::NullBuffer;
use arrow::error::ArrowError;

/// An invalid value: its row, the location of its text, and the reason.
pub(crate) struct InvalidValue {
    pub(crate) row: usize,
    pub(crate) field: Field,
    pub(crate) reason: String,
}

/// The values of one column.
pub(crate) struct ColumnValues {
    pub(crate) array: ArrayRef,
    pub(crate) wrong: Vec<InvalidValue>,
    pub(crate) distinct: Option<(Distinct, u64)>,
    /// The NULLs, and the values kept though they usually mean NULL.
    pub(crate) nulls: NullCounts,
    /// Values that the column holds otherwise than they are written.
    pub(crate) inexact: Inexact,
}

impl ColumnValues {
    pub(crate) fn new(array: ArrayRef, wrong: Vec<InvalidValue>, nulls: NullCounts) -> Self {
        Self { array, wrong, distinct: None, nulls, inexact: Inexact::default() }
    }
}

/// Values that a column holds otherwise than they are written: rounded numbers, and times that clocks showed twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Inexact {
    pub(crate) count: u64,
    /// The first of them, as written.
    pub(crate) first: Option<String>,
}

impl Inexact {
    /// Counts a value if it is one of these.
    #[inline]
    pub(crate) fn add_if(&mut self, is_inexact: bool, bytes: &[u8]) {
        if is_inexact {
            self.count += 1;
            self.first.get_or_insert_with(|| String::from_utf8_lossy(bytes).into_owned());
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.count += other.count;
        if self.first.is_none() {
            self.first.clone_from(&other.first);
        }
    }
}

/// Values, NULLs and invalid values while they are collected.
pub(crate) struct Values<T> {
    pub(crate) values: Vec<T>,
    /// Made with the first NULL.
    pub(crate) valid: Option<Vec<bool>>,
    pub(crate) wrong: Vec<InvalidValue>,
    /// The texts that were NULL, or were kept, with their numbers.
    pub(crate) counts: NullCounts,
}

impl<T> Values<T> {
    /// Creates an empty column.
    pub(crate) fn with_capacity(row_count: usize) -> Self {
        Self { values: Vec::with_capacity(row_count), valid: None, wrong: Vec::new(), counts: NullCounts::default() }
    }

    /// The column with the array that `array_of` makes from the values and from which of them are not NULL.
    pub(crate) fn into_column(
        self,
        array_of: impl FnOnce(Vec<T>, Option<NullBuffer>) -> Result<ArrayRef, ArrowError>,
    ) -> Result<ColumnValues, ArrowError> {
        let nulls = self.valid.map(NullBuffer::from);
        Ok(ColumnValues::new(array_of(self.values, nulls)?, self.wrong, self.counts))
    }
}
