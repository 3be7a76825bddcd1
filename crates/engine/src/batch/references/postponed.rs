//! The checks of foreign keys that wait for the end of the transaction. What `ON DELETE` and `ON UPDATE` say happens at
//! the end of each statement in any case.

use crate::batch::Batch;
use crate::batch::references::children::own_table;
use crate::batch::references::lookup::{scan_of, sides};
use crate::batch::references::present::PresentReference;
use crate::batch::references::state::{GoneKeys, Reference};
use crate::read::snapshot::ReadSnapshot;
use atsdb_core::{Error, ErrorKind, ForeignKey, ReferentialAction, Result, Table, TableId};
use std::collections::BTreeSet;

impl Batch {
    /// Sets whether deferrable foreign keys are checked when the batch is committed, rather than at the end of each
    /// statement. `keys` are their tables and names; `None` means all. Those that are not deferred any more are checked
    /// now.
    ///
    /// Errors: [`ForeignKeyViolation`](atsdb_core::ErrorKind::ForeignKeyViolation). After that the batch cannot be
    /// committed.
    pub fn defer(&mut self, keys: Option<&[(TableId, String)]>, is_deferred: bool) -> Result<()> {
        self.changes.deferral_mut().set(keys, is_deferred);
        if is_deferred { Ok(()) } else { self.check_postponed(false) }
    }

    /// Checks all foreign keys whose check waits for the end of the transaction.
    ///
    /// Errors: as [`defer`](Self::defer).
    pub fn end_transaction(&mut self) -> Result<()> {
        self.check_postponed(true)
    }

    /// Returns whether the rows of a child are not looked up now, but when the transaction ends.
    /// Notes the child if so.
    pub(super) fn postpones(&mut self, child: &Table, key: &ForeignKey) -> bool {
        let defers = self.changes.deferral().defers(child.id, key);
        if defers {
            self.changes.references_mut().postpone_child(child.id);
        }
        defers
    }

    /// Returns whether keys that a parent lacks may be referred to until the transaction ends.
    pub(super) fn is_postponed(&self, gone: &GoneKeys) -> bool {
        let Reference { child, key } = &gone.reference;
        gone.action == ReferentialAction::NoAction && self.changes.deferral().defers(*child, key)
    }

    /// Refuses another definition of a table while checks wait that concern it: they would not fit the new one.
    pub(crate) fn refuse_pending(&self, table: &Table) -> Result<()> {
        if !self.changes.references().has_postponed(table) {
            return Ok(());
        }
        let name = table.definition.local_name();
        let message = format!("cannot ALTER TABLE \"{name}\" because it has pending trigger events");
        Err(Error::new(ErrorKind::Sql, message)
            .with_hint("SET CONSTRAINTS ALL IMMEDIATE first: it checks the foreign keys"))
    }

    fn check_postponed(&mut self, is_last: bool) -> Result<()> {
        let (gone, children) = self.changes.references_mut().take_postponed();
        if gone.is_empty() && children.is_empty() {
            return Ok(());
        }
        let checked = self.check_postponed_gone(gone, is_last);
        let checked = checked.and_then(|()| self.check_postponed_children(children, is_last));
        self.note_half_done(checked)
    }

    fn check_postponed_gone(&mut self, gone: Vec<GoneKeys>, is_last: bool) -> Result<()> {
        let view = self.snapshot()?;
        let (waiting, due): (Vec<_>, Vec<_>) = gone.into_iter().partition(|gone| !is_last && self.is_postponed(gone));
        waiting.into_iter().for_each(|gone| self.changes.references_mut().postpone_gone(gone));
        let due = due.into_iter().map(|gone| still_gone(&view, gone)).collect::<Result<Vec<_>>>()?;
        let due: Vec<GoneKeys> = due.into_iter().flatten().collect();
        self.refuse_references(&due)?;
        due.into_iter().for_each(|gone| self.changes.references_mut().note_gone(gone));
        Ok(())
    }

    fn check_postponed_children(&mut self, children: BTreeSet<TableId>, is_last: bool) -> Result<()> {
        let view = self.snapshot()?;
        for child in children {
            let Some(table) = own_table(&view, child) else { continue };
            for key in table.definition.foreign_keys.iter().filter(|key| key.deferrable.is_some()) {
                if is_last || !self.postpones(&table, key) {
                    self.require_own_parents(&view, &table, key)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns those of some keys that a parent still lacks in a view of the batch; `None` if there are none, or if the
/// foreign key was dropped.
fn still_gone(view: &ReadSnapshot, gone: GoneKeys) -> Result<Option<GoneKeys>> {
    let Some(PresentReference { child, key, parent }) = gone.present_in(view) else { return Ok(None) };
    let (_, side) = sides(&child.definition, &key, &parent.definition)?;
    let wanted = side.wanted(&gone.keys)?;
    let (flags, _) = wanted.found_in(&side, &scan_of(view, &parent)?)?;
    let keys = wanted.without(&flags)?;
    let reference = Reference { child: child.id, key };
    Ok((!keys.is_empty()).then_some(GoneKeys { reference, keys, ..gone }))
}
