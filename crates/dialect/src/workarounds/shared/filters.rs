//! `FILTER (WHERE ...)` of an aggregate. Shared by the accumulators that replace DataFusion's.

use datafusion::arrow::array::{Array, BooleanArray};

/// The rows that a filter excludes.
pub(crate) fn unwanted(filter: &BooleanArray) -> BooleanArray {
    let wanted = match filter.nulls() {
        Some(valid) => filter.values() & valid.inner(),
        None => filter.values().clone(),
    };
    BooleanArray::from(!&wanted)
}
