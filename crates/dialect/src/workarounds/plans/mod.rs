//! Logical plans: steps that are planned or optimized wrongly.

pub(super) mod computed_once;
pub(super) mod computed_order;
pub(super) mod computed_sets;
pub(super) mod constant_order;
pub(super) mod distinct_beside_sums;
pub(super) mod distinct_rows;
pub(super) mod guarded_conditions;
pub(super) mod null_conditions;
pub(super) mod null_keys;
pub(super) mod one_row;
pub(super) mod repeated_keys;
pub(super) mod volatile_conditions;
