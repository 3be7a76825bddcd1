//! Physical plans: rules of the optimizer that assume too much of steps, and steps that do not yield.

pub(super) mod cast_statistics;
pub(super) mod grouping_sets;
mod hidden_steps;
pub(super) mod joined_rows;
pub(super) mod sliding_counts;
pub(super) mod stoppable;
pub(super) mod unambiguous_filters;
pub(super) mod union_constants;
mod unknown_rows;
