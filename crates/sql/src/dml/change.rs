//! The change that an `UPDATE`, `DELETE` or `MERGE` makes.

use super::returning::Returning;
use super::target::Target;
use crate::scan::numbered_scan::NumberedScan;
use atsdb_core::{Result, Table};
use std::ops::Range;

/// The change that a statement makes.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    /// `UPDATE`, `DELETE` or `MERGE`.
    pub(crate) verb: &'static str,
    pub(crate) table: Table,
    /// The columns whose new values the query returns, by position, after the rows' locations.
    pub(crate) columns: Vec<usize>,
    pub(crate) kind: ChangeKind,
    /// The other columns, which the query returns after these if there is a `RETURNING`. The values of other tables in
    /// the clause follow.
    pub(crate) others: Vec<usize>,
    pub(crate) returning: Option<Returning>,
    /// The scan that reads the rows; `None` if the plan reads none.
    pub(crate) source: Option<NumberedScan>,
    /// The actions of the `WHEN` clauses, one of which each row of the query names by number; `None` unless the
    /// statement is a `MERGE`.
    pub(crate) merge: Option<Merge>,
}

impl Change {
    /// Returns whether the statement only deletes rows: none gets other values, and none is added, which might have the
    /// key of a deleted one.
    pub(crate) fn deletes(&self) -> bool {
        let is_deletion = |action: &MergeAction| matches!(action, MergeAction::Nothing | MergeAction::Delete);
        match &self.merge {
            Some(merge) => merge.actions.iter().all(is_deletion),
            None => matches!(self.kind, ChangeKind::Delete | ChangeKind::Empty),
        }
    }

    /// Returns the position of the column to which each value in a row of the query is assigned; `None` for a value
    /// that is not.
    pub(crate) fn assigned(&self) -> Result<Vec<Option<usize>>> {
        let Some(merge) = &self.merge else {
            return Ok([None, None].into_iter().chain(self.columns.iter().copied().map(Some)).collect());
        };
        let mut assigned = vec![None; Merge::FIRST_VALUE];
        for action in &merge.actions {
            match action {
                MergeAction::Nothing | MergeAction::Delete => {}
                MergeAction::Update { .. } => assigned.extend(self.columns.iter().copied().map(Some)),
                MergeAction::Insert { target, .. } => {
                    let (_, positions) = target.resolve_among(std::slice::from_ref(&self.table))?;
                    assigned.extend(positions.into_iter().map(Some));
                }
            }
        }
        Ok(assigned)
    }
}

/// The actions of a `MERGE`. A row of its query has the number of its action after the location of the matched row,
/// or NULL for none. The values for each action follow, in the actions' order.
#[derive(Debug, Clone)]
pub(crate) struct Merge {
    pub(crate) actions: Vec<MergeAction>,
}

impl Merge {
    /// The position of the number of the action in a row.
    pub(crate) const ACTION: usize = 2;
    /// The position of the first value in a row.
    pub(crate) const FIRST_VALUE: usize = 3;
}

/// The action of one `WHEN` clause.
#[derive(Debug, Clone)]
pub(crate) enum MergeAction {
    Nothing,
    Delete,
    /// The matched row gets these values in [`Change::columns`].
    Update {
        values: Range<usize>,
    },
    /// The values become a row.
    Insert {
        target: Box<Target>,
        values: Range<usize>,
    },
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
