//! Intervals: their comparison, multiplication, average and extremes, and differences and sums of times.

pub(super) mod arithmetic;
pub(super) mod average;
pub(super) mod comparison;
pub(super) mod extremes;
mod groups;
mod order;
mod product;
