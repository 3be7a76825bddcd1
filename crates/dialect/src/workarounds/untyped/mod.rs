//! Constants and parameters without a type, which get that of the values beside them.

pub(super) mod array_constants;
pub(super) mod boolean_texts;
pub(super) mod operands;
pub(super) mod texts;
pub(super) mod united_types;
