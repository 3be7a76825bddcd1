//! UUIDs, JSON and values of a `char(n)`, which are texts for DataFusion: where values have these types, and what
//! operators do with them.

mod chars;
pub(super) mod json_operands;
pub(super) mod relations;
pub(super) mod results;
pub(super) mod texts;
pub(super) mod uuid_arrays;
