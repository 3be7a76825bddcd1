//! Expressions, rows that are compared, operators, filters of aggregates and functions that write values, for several
//! of the other rooms.

pub(super) mod compared_rows;
pub(super) mod expressions;
pub(super) mod filters;
pub(super) mod operator;
pub(super) mod writing_functions;
