//! Intervals: their comparison, multiplication, and addition to dates.

pub(super) mod arithmetic;
pub(super) mod comparison;
mod order;
mod product;
