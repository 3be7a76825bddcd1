//! `FILTER (WHERE ...)` of an aggregate, for accumulators that take the place of DataFusion's.
//!
//! No workaround by itself: what several of them share.

use datafusion::arrow::array::{Array, BooleanArray};

/// The rows that a filter leaves out.
pub(crate) fn unwanted(filter: &BooleanArray) -> BooleanArray {
    let wanted = match filter.nulls() {
        Some(valid) => filter.values() & valid.inner(),
        None => filter.values().clone(),
    };
    BooleanArray::from(!&wanted)
}
