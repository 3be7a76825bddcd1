//! Values on the wire: the types of PostgreSQL that stand for those of Arrow, and both formats of each.
//!
//! Owned here: which type a column has, its values as text and in binary, parameters and pieces of COPY as values. Not
//! owned: the messages around them.

pub(in crate::pg) mod binary;
pub(in crate::pg) mod calendar;
pub(in crate::pg) mod cells;
pub(in crate::pg) mod input;
pub(in crate::pg) mod json;
pub(in crate::pg) mod known;
pub(in crate::pg) mod numeric;
pub(in crate::pg) mod text;
