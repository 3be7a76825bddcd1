//! `generate_series` and `range` between times and dates, in a SELECT list and in FROM. The times have microseconds, or
//! nanoseconds beside a time that has them. A series between dates is one of times, as in PostgreSQL, also with steps
//! of less than a day.
//!
//! DataFusion's series have nanoseconds, whose range ends in the years 1677 and 2262: beyond it, a series in a SELECT
//! list is empty. It returns dates there, and refuses steps of less than a day.
//! [#11823](https://github.com/apache/datafusion/issues/11823), about such steps, is closed upstream: they are refused
//! instead of never ending. For the others no upstream issue is known.

mod function;
mod steps;
mod table;

use datafusion::execution::context::SessionContext;

/// The functions, and whether the end of a series is part of it.
const FUNCTIONS: [(&str, bool); 2] = [("generate_series", true), ("range", false)];

/// Replaces DataFusion's functions.
pub(crate) fn register(context: &SessionContext) {
    for (name, includes_end) in FUNCTIONS {
        function::register(context, name, includes_end);
        table::register(context, name, includes_end);
    }
}
