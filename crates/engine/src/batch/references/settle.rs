//! When foreign keys are checked: at the end of each statement, and before the commit.

use crate::batch::Batch;
use atsdb_core::Result;

impl Batch {
    /// Ends a statement: compares the waiting rows with others of the same key ([`settle_keys`](Self::settle_keys)),
    /// and checks the foreign keys of the rows that the batch has added and removed since the last such call. Rows that
    /// refer to rows that were deleted are deleted or changed where `ON DELETE` says so.
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
        let mut all_gone = Vec::new();
        loop {
            let removed = self.changes.references_mut().take_removed();
            if removed.is_empty() {
                break;
            }
            all_gone.extend(self.follow_removed(&removed)?);
        }
        self.refuse_references(&all_gone)?;
        self.check_children()?;
        all_gone.into_iter().for_each(|gone| self.changes.references_mut().note_gone(gone));
        Ok(())
    }
}
