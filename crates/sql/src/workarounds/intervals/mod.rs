//! Intervals: their comparison, multiplication, average, and differences and sums of times.

pub(super) mod arithmetic;
pub(super) mod average;
pub(super) mod comparison;
mod order;
mod product;
