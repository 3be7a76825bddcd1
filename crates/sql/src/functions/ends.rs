//! Which end of the time `first` and `last` look at, and what they prefer there.

use super::arguments::order_keys;
use datafusion::arrow::array::{ArrayRef, Int64Array};
use datafusion::arrow::compute::SortOptions;
use datafusion::common::{Result, ScalarValue};
use std::cmp::Ordering;

/// Which end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum End {
    First,
    Last,
}

impl End {
    /// A number that is the greater, the nearer a time is to this end. NULL times have none.
    pub(crate) fn nearness(self, times: &ArrayRef) -> Result<Int64Array> {
        let keys = order_keys(times)?;
        Ok(match self {
            Self::First => keys.unary(|key| !key),
            Self::Last => keys,
        })
    }

    /// In this order the value to take of two with the same time is the greater.
    pub(crate) fn preference(self) -> SortOptions {
        SortOptions { descending: self == Self::First, nulls_first: true }
    }

    /// Whether a value is to be taken before another with the same time.
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

/// Values without their dictionary.
pub(crate) fn scalar_at(values: &ArrayRef, row: usize) -> Result<ScalarValue> {
    Ok(match ScalarValue::try_from_array(values, row)? {
        ScalarValue::Dictionary(_, value) => *value,
        value => value,
    })
}
