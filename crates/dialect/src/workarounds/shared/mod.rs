//! Expressions, rows that are compared, operators and filters of aggregates, for several of the other rooms.

pub(super) mod compared_rows;
pub(super) mod expressions;
pub(super) mod filters;
pub(super) mod operator;
