//! Intervals: their comparison, multiplication, average and extremes, and differences and sums of times.

pub(crate) mod arithmetic;
pub(crate) mod average;
pub(crate) mod comparison;
pub(crate) mod extremes;
mod groups;
mod order;
mod product;
