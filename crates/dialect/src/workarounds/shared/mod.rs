//! Expressions, operators and filters of aggregates, for several of the other rooms.

pub(super) mod expressions;
pub(super) mod filters;
pub(super) mod operator;
