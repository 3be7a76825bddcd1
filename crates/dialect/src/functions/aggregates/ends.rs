//! The end of the time range that `first` and `last` use, and their preference among rows with the same time.

use crate::functions::base::arguments::order_keys;
use datafusion::arrow::array::{ArrayRef, Int64Array};
use datafusion::arrow::compute::SortOptions;
use datafusion::common::{Result, ScalarValue};
use std::cmp::Ordering;

/// The end of the time range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum End {
    First,
    Last,
}

impl End {
    /// A number for each time, which is greater the nearer the time is to this end. It is NULL for a NULL time.
    pub(crate) fn nearness(self, times: &ArrayRef) -> Result<Int64Array> {
        let keys = order_keys(times)?;
        Ok(match self {
            Self::First => keys.unary(|key| !key),
            Self::Last => keys,
        })
    }

    /// The order of values with the same time, in which the greatest one is taken.
    pub(crate) fn preference(self) -> SortOptions {
        SortOptions { descending: self == Self::First, nulls_first: true }
    }

    /// Returns whether a value is preferred to another with the same time.
    pub(crate) fn prefers(self, value: &ScalarValue, to: &ScalarValue) -> bool {
        match (value.is_null(), to.is_null()) {
            (true, _) => false,
            (false, true) => true,
            _ => {
                let wanted = if self == Self::First { Ordering::Less } else { Ordering::Greater };
                value.partial_cmp(to) == Some(wanted)
            }
        }
    }
}

/// One value of an array, without its dictionary.
pub(crate) fn scalar_at(values: &ArrayRef, row: usize) -> Result<ScalarValue> {
    Ok(match ScalarValue::try_from_array(values, row)? {
        ScalarValue::Dictionary(_, value) => *value,
        value => value,
    })
}
