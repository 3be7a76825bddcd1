//! The change that an `UPDATE` or `DELETE` makes.

use super::returning::Returning;
use crate::scan::numbered_scan::NumberedScan;
use atsdb_core::Table;

/// The change that a statement makes.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    /// `UPDATE` or `DELETE`.
    pub(crate) verb: &'static str,
    pub(crate) table: Table,
    /// The columns whose new values the query returns, by position, after the rows' locations.
    pub(crate) columns: Vec<usize>,
    pub(crate) kind: ChangeKind,
    /// With `RETURNING`, the other columns, which the query returns after these. The values of other tables in the
    /// clause follow.
    pub(crate) others: Vec<usize>,
    pub(crate) returning: Option<Returning>,
    /// The scan that reads the rows; `None` if the plan reads none.
    pub(crate) source: Option<NumberedScan>,
}

/// How rows change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// All rows of the table are removed.
    Empty,
    /// Some rows are removed.
    Delete,
    /// Rows get new values and stay in their chunks.
    Set,
    /// Rows are removed and added again, because their slice, or whether their key is allowed, depends on the new
    /// values.
    Move,
}
