//! The last check before the commit, against what other writers have committed since the batch first read the store:
//! parents that lack keys have other versions of their definitions, and child tables have newer chunks.

use crate::batch::Batch;
use crate::batch::references::children::{NewRows, own_table, references_to};
use crate::batch::references::lookup::scan_over;
use crate::batch::references::parents::referred_to;
use crate::batch::references::state::GoneKeys;
use crate::read::snapshot::ReadSnapshot;
use crate::shared::definitions::changed_meanwhile;
use atsdb_core::{ChunkEntry, ChunkGuard, Error, ErrorKind, Result, Table, TableId, TimeRange};
use std::collections::BTreeSet;

impl Batch {
    /// Bases the batch on the present versions of the tables that its foreign keys depend on, after looking up again
    /// what it relies on in them. Returns whether there were other versions.
    ///
    /// Errors: [`Conflict`](ErrorKind::Conflict), or what [`broken`](Self::broken) returns.
    pub(crate) fn follow_known(&mut self, fresh: &ReadSnapshot) -> Result<bool> {
        let (mut moved, mut relied_on) = (Vec::new(), BTreeSet::new());
        for (id, known) in self.changes.references().known() {
            let definition = &known.table.definition;
            let now = fresh.table_by_id(*id).ok_or_else(|| changed_meanwhile(definition))?;
            if now.version == known.table.version {
                continue;
            }
            let has_same_references = references_to(fresh.tables(), &now.definition) == known.referenced_by;
            if now.definition != *definition || !has_same_references {
                return Err(changed_meanwhile(definition));
            }
            moved.push(now.clone());
            relied_on.extend(known.is_relied_on.then_some(*id));
        }
        for now in &moved {
            self.changes.rely_on_newer(now);
            if let Some(known) = self.changes.references_mut().known_mut().get_mut(&now.id) {
                known.table.version = now.version;
            }
        }
        if !relied_on.is_empty() {
            let checked = self.look_up_again(fresh, &relied_on);
            checked.map_err(|error| self.broken(error))?;
        }
        Ok(!moved.is_empty())
    }

    /// Looks up the keys of all rows of the batch that refer to one of these parents, in the present state of the
    /// store.
    fn look_up_again(&mut self, fresh: &ReadSnapshot, parents: &BTreeSet<TableId>) -> Result<()> {
        let view = self.over(fresh.clone())?;
        let is_meant = |table: &Table| parents.contains(&table.id);
        for child in self.changes.references().children() {
            let Some(table) = own_table(&view, child) else { continue };
            let mut keys = table.definition.foreign_keys.iter().filter(|key| {
                view.inner.tables.iter().any(|table| is_meant(table) && key.parent.is_of(&table.definition))
            });
            keys.try_for_each(|key| self.require_own_parents(&view, &table, key))?;
        }
        Ok(())
    }

    /// Compares the chunks of a child table that are newer than its guard with the keys that parents lack, and looks up
    /// the keys of foreign keys for which the batch has checked all rows of the table.
    ///
    /// Errors: what [`broken`](Self::broken) returns.
    pub(crate) fn recheck_references(&mut self, table: &Table, guard: &ChunkGuard, fresh: &ReadSnapshot) -> Result<()> {
        let is_of_child = |gone: &&GoneKeys| gone.reference.child == table.id;
        let gone: Vec<_> = self.changes.references().gone().iter().filter(is_of_child).cloned().collect();
        // The store may have the same foreign key: the batch may have dropped it, and added it again.
        let is_validated = self.changes.references().has_validated(table.id);
        if gone.is_empty() && !is_validated {
            return Ok(());
        }
        let removed = self.changes.removed_and_hidden();
        let is_newer = |entry: &ChunkEntry| entry.id > guard.newest && !removed.contains(&entry.id);
        let view = self.over(fresh.clone())?;
        let entries = fresh.inner.store.chunks(table.id, TimeRange::ALL)?.into_iter().filter(is_newer).collect();
        let scan = scan_over(fresh, table, entries)?;
        for gone in &gone {
            if let Some(error) = referred_to(&view, gone, &scan)? {
                // What `ON DELETE` or `ON UPDATE` says would also apply to the new row if the batch were repeated.
                return Err(if gone.action.refuses() { self.broken(error) } else { as_conflict(&error) });
            }
        }
        for key in table.definition.foreign_keys.iter().filter(|key| is_validated && !key.not_valid) {
            let checked = self.require_parents(&view, table, key, NewRows::Chunks(&scan));
            checked.map_err(|error| self.broken(error))?;
        }
        Ok(())
    }

    /// The error for a foreign key that another writer's commit has broken: a conflict, unless the caller does not
    /// repeat the batch.
    fn broken(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::ForeignKeyViolation if !self.keyed.names_duplicates() => as_conflict(&error),
            _ => error,
        }
    }
}

fn as_conflict(error: &Error) -> Error {
    Error::new(ErrorKind::Conflict, error.message())
}
