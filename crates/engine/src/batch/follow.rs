//! A batch that only appends follows definitions that change while it is under way.
//!
//! Rows that come later keep to the newer definition. What was encoded before stays if it is right under it. A batch that
//! has looked at the store goes by what it saw: for it a change is a conflict.

use crate::batch::Batch;
use crate::read::snapshot::ReadSnapshot;
use crate::shared::definitions::{changed_meanwhile, takes_rows_of};
use arrow::array::ArrayRef;
use atsdb_core::{Change, Error, Result, Table};
use std::sync::Arc;

impl Batch {
    /// Adds columns in stored form under the newest definition that the appender knows.
    pub(crate) fn push_appended(&mut self, table: &Table, columns: Vec<ArrayRef>, row_count: usize) -> Result<()> {
        if self.changes.present_version(table.id).is_some_and(|present| present < table.version) {
            self.move_writer(table)?;
        }
        self.push_stored(table, columns, row_count)
    }

    /// The definition under which rows go on their way, if it is not the one in the caller's hand: that of what the batch
    /// looked at, or else the newest that was seen.
    pub(crate) fn present(&mut self, table: &Table) -> Result<Option<Table>> {
        let present = self.changes.present_version(table.id);
        if let Some(base) = self.changes.looked_at() {
            let is_own = present == Some(table.version) || self.changes.has_created(table.id);
            return match is_own {
                true => Ok(None),
                false => Ok(self.changes.tables(base).into_iter().find(|own| own.id == table.id)),
            };
        }
        match self.handle.shared.definitions.newer_than(table) {
            Some(newer) => {
                self.move_writer(&newer)?;
                Ok(Some(Table::clone(&newer)))
            }
            None if present.is_some_and(|present| present < table.version) => self.move_writer(table).map(|()| None),
            None => Ok(None),
        }
    }

    /// Looks whether a table has a newer definition by now, for a batch that has only appended.
    pub(crate) fn look_for_newer(&mut self, table: &Table) -> Result<Option<Table>> {
        if self.changes.has_looked() {
            return Ok(None);
        }
        let newer = ReadSnapshot::take(&self.handle.shared)?
            .table_by_id(table.id)
            .filter(|now| now.version > table.version)
            .cloned();
        if let Some(newer) = &newer {
            self.move_writer(newer)?;
        }
        Ok(newer)
    }

    /// Rows of a table that come from now on keep to a newer definition; those that came before stay if they are right
    /// under it.
    fn move_writer(&mut self, newer: &Table) -> Result<()> {
        if self.changes.looked_at().is_some() || self.changes.present_version(newer.id) == Some(newer.version) {
            return Ok(());
        }
        if self.drafts.has(newer.id) {
            return Err(changed_meanwhile(&newer.definition));
        }
        if let Some(writer) = self.writers.get_mut(&newer.id).filter(|writer| writer.version != newer.version) {
            let definition = Arc::clone(&writer.definition);
            let waiting = writer.slices.drain()?;
            self.writers.remove(&newer.id);
            if self.keyed.has_waiting(newer.id) || !takes_rows_of(&newer.definition, &definition) {
                return Err(changed_meanwhile(&definition));
            }
            for chunk in waiting {
                self.encode(newer.id, &definition, chunk)?;
            }
        }
        self.changes.move_definition(newer.id, newer.version);
        Ok(())
    }

    /// Names the present definitions in a change that only adds rows, if those that it was made under have changed and
    /// its rows are right under them as they are. Says whether it is worth another attempt.
    pub(crate) fn follow_definitions(&self, change: &mut Change) -> Result<bool> {
        let snapshot = ReadSnapshot::take(&self.handle.shared)?;
        let mut has_changed = false;
        for based_on in &mut change.based_on {
            let Some(writer) = self.writers.get(&based_on.table) else { return Ok(false) };
            let Some(now) = snapshot.table_by_id(based_on.table) else {
                return Err(Error::not_found(format!("table {} was dropped", writer.definition.name)));
            };
            if now.version == based_on.version {
                continue;
            }
            if !takes_rows_of(&now.definition, &writer.definition) {
                return Err(changed_meanwhile(&writer.definition));
            }
            based_on.version = now.version;
            has_changed = true;
        }
        Ok(has_changed)
    }
}
