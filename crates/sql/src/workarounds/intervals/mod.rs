//! Lengths of time: how they are compared, multiplied and added to dates.

pub(super) mod arithmetic;
pub(super) mod comparison;
mod order;
mod product;
