//! The checks of foreign keys at the end of each statement and before the commit. Not owned: checks that wait for the
//! end of the transaction (`postponed`).

use crate::batch::Batch;
use atsdb_core::{Error, ErrorKind, Result};

/// The maximum number of times that rows with new keys are followed in one statement.
const MOVES_MAX: usize = 1_000;

impl Batch {
    /// Ends a statement: compares the waiting rows with others of the same key ([`settle_keys`](Self::settle_keys)),
    /// and checks the foreign keys of the rows that the batch has added and removed since the last such call. Rows that
    /// refer to rows that were deleted or changed are deleted or changed where `ON DELETE` and `ON UPDATE` say so.
    ///
    /// Errors: as [`settle_keys`](Self::settle_keys), and
    /// [`ForeignKeyViolation`](atsdb_core::ErrorKind::ForeignKeyViolation). After that the batch cannot be committed.
    pub fn end_statement(&mut self) -> Result<()> {
        self.settle_keys()?;
        self.check_references().map(drop)
    }

    /// Checks the foreign keys of all rows that were added and removed since the last check. Returns whether there were
    /// any: rows that refer to them may have been changed, too.
    pub(crate) fn check_references(&mut self) -> Result<bool> {
        if self.changes.references().is_settled() {
            return Ok(false);
        }
        let checked = self.check_unsettled();
        self.note_half_done(checked).map(|()| true)
    }

    fn check_unsettled(&mut self) -> Result<()> {
        let (mut all_gone, mut moves) = (Vec::new(), 0);
        loop {
            let references = self.changes.references_mut();
            let (removed, moved) = (references.take_removed(), references.take_moved());
            let deleted = references.take_deleted();
            if removed.is_empty() {
                break;
            }
            moves += usize::from(!moved.is_empty());
            if moves > MOVES_MAX {
                let message = "ON UPDATE of foreign keys leads from table to table without an end";
                return Err(Error::new(ErrorKind::Limit, message)
                    .with_hint(format!("the maximum is {MOVES_MAX} tables: UPDATE fewer rows in one statement")));
            }
            all_gone.extend(self.follow_removed(&removed, &moved, &deleted)?);
        }
        // Rows that actions have added to tables with keys still wait. Only settled ones are checked below.
        self.settle_keys()?;
        let (postponed, all_gone): (Vec<_>, Vec<_>) = all_gone.into_iter().partition(|gone| self.is_postponed(gone));
        postponed.into_iter().for_each(|gone| self.changes.references_mut().postpone_gone(gone));
        self.refuse_references(&all_gone)?;
        self.check_children()?;
        all_gone.into_iter().for_each(|gone| self.changes.references_mut().note_gone(gone));
        Ok(())
    }
}
