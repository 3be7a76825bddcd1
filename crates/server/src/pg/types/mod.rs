//! Values on the wire: the PostgreSQL types that correspond to Arrow's, and both formats of each. Owned here: the type
//! of a column, its values as text and in binary, and reading parameters and pieces of COPY as values. Not owned: the
//! messages around them.

pub(in crate::pg) mod array_elements;
pub(in crate::pg) mod binary;
pub(in crate::pg) mod bytea;
pub(in crate::pg) mod calendar;
pub(in crate::pg) mod cells;
pub(in crate::pg) mod enumerations;
pub(in crate::pg) mod floats;
pub(in crate::pg) mod input;
pub(in crate::pg) mod json;
pub(in crate::pg) mod known;
pub(in crate::pg) mod layout;
pub(in crate::pg) mod modifiers;
pub(in crate::pg) mod numeric;
mod ranges;
pub(in crate::pg) mod text;
