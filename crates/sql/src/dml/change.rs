//! What an `UPDATE` or `DELETE` changes.

use super::returning::Returning;
use crate::scan::numbered_scan::NumberedScan;
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
    pub(crate) source: Option<NumberedScan>,
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
