//! Arrays: their comparison, elements, members, positions and dimensions.

pub(super) mod comparison;
pub(super) mod elements;
pub(super) mod empty_arrays;
pub(super) mod items;
pub(super) mod members;
pub(super) mod subscripts;
