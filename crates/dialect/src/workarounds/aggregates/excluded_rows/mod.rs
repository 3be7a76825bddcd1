//! Window functions over frames without some rows: `EXCLUDE CURRENT ROW`, `GROUP` and `TIES`. Also aggregates over
//! frames whose first row moves, if DataFusion cannot remove a row from what they have computed.
//!
//! DataFusion has no such frames. Until all types are settled, the exclusion is a condition of the function's `FILTER`,
//! as [`syntax`](crate::workarounds::syntax) writes it. Then the function becomes one of its own, which computes the
//! aggregate for each row anew. No upstream issue known.

mod call;
mod evaluator;
mod function;
pub(crate) mod rule;
