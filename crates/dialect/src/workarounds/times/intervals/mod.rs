//! Intervals: their comparison, multiplication, sum, average and extremes, and differences and sums of times.

pub(crate) mod arithmetic;
pub(crate) mod average;
pub(crate) mod comparison;
mod days;
pub(crate) mod extremes;
mod groups;
mod order;
mod product;
pub(crate) mod sum;
