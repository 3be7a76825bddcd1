//! Reading: a snapshot, the chunks that a query needs, and their rows.

mod at_hand;
mod bounds;
pub(crate) mod catalogue;
pub(crate) mod change_log;
pub(crate) mod condition;
mod grouped_rows;
pub(crate) mod groups;
pub(crate) mod index_pruning;
pub(crate) mod latest;
pub(crate) mod located_rows;
pub(crate) mod pages;
pub(crate) mod predicate;
pub(crate) mod resident;
pub(crate) mod rewrite;
pub(crate) mod rollup;
pub(crate) mod row_checks;
pub(crate) mod scan;
pub(crate) mod scan_chunk;
mod selection;
pub(crate) mod snapshot;
pub(crate) mod strings;
mod time_rows;
