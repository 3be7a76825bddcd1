//! Window functions over frames without some rows: `EXCLUDE CURRENT ROW`, `GROUP` and `TIES`.
//!
//! DataFusion has no such frames. Until all types are settled, the exclusion is a condition of the function's `FILTER`,
//! as [`syntax`](super::syntax) writes it. Then the function becomes one of its own, which computes the aggregate for
//! each row anew. No upstream issue known.

mod call;
mod evaluator;
mod function;
mod rule;

pub(super) use rule::{ExcludeRows, register};

/// The rows that a frame leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Exclusion {
    /// The row itself.
    CurrentRow,
    /// The row and its peers.
    Group,
    /// The row's peers without the row.
    Ties,
}
