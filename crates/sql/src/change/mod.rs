//! `UPDATE` and `DELETE`: a statement becomes a query for the rows that change and their new values, and each chunk
//! that such rows are in is replaced by its successor. One batch, all or nothing.
//!
//! Not owned: how a chunk is rewritten and committed (`engine`).

mod carry_out;
mod chunk;
mod numbered;
mod returned;
mod statement;

pub(crate) use carry_out::{Carried, CarryOut, Limits, plain};
pub(crate) use numbered::{Numbered, RowNumbers, TARGET_SCHEMA};
pub(crate) use returned::Returned;
pub(crate) use statement::{assignments, query_of_change};

use crate::returning::Returning;
use atsdb_core::Table;

/// What a statement changes.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    /// `UPDATE` or `DELETE`.
    pub(crate) verb: &'static str,
    pub(crate) table: Table,
    /// The columns whose new values the query answers, by position, behind the rows' places.
    pub(crate) columns: Vec<usize>,
    pub(crate) kind: Kind,
    /// With `RETURNING` the other columns, which the query answers behind them.
    pub(crate) others: Vec<usize>,
    pub(crate) returning: Option<Returning>,
    /// Where the rows are read; `None` if the plan reads none.
    pub(crate) source: Option<Numbered>,
}

/// How rows change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All rows of the table go.
    Empty,
    /// Rows go.
    Delete,
    /// Rows stay where they are, with other values.
    Set,
    /// Rows go and come anew, as their place, or whether they may be there, depends on what is set.
    Move,
}
