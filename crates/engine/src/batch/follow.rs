//! A batch that only appends follows the definitions of its tables when these change.
//!
//! Later rows follow the newer definition. Chunks that were encoded before are kept if they are valid under it. A batch
//! that has read the store relies on what it saw: a changed definition is then a conflict.

use crate::batch::Batch;
use crate::read::snapshot::ReadSnapshot;
use crate::shared::definitions::{changed_meanwhile, takes_rows_of};
use crate::shared::temporary::is_temporary;
use arrow::array::ArrayRef;
use atsdb_core::refusal;
use atsdb_core::{Change, Result, Table};

impl Batch {
    /// Adds columns in stored form, under the newest definition that the appender knows.
    pub(crate) fn push_appended(&mut self, table: &Table, columns: Vec<ArrayRef>, row_count: usize) -> Result<()> {
        if self.changes.present_version(table.id).is_some_and(|present| present < table.version) {
            self.switch_definition(table)?;
        }
        self.push_stored(table, columns, row_count)
    }

    /// The definition under which rows are added, if it differs from the caller's: that of the state the batch has
    /// read, or else the newest that this process has seen.
    pub(crate) fn present(&mut self, table: &Table) -> Result<Option<Table>> {
        if is_temporary(table.id) {
            return Ok(None);
        }
        let present = self.changes.present_version(table.id);
        if let Some(base) = self.changes.base() {
            let is_own = present == Some(table.version) || self.changes.has_created(table.id);
            return match is_own {
                true => Ok(None),
                false => Ok(self.changes.tables(base).into_iter().find(|own| own.id == table.id)),
            };
        }
        match self.handle.shared.definitions.newer_than(table) {
            Some(newer) => {
                self.switch_definition(&newer)?;
                Ok(Some(Table::clone(&newer)))
            }
            None if present.is_some_and(|present| present < table.version) => {
                self.switch_definition(table).map(|()| None)
            }
            None => Ok(None),
        }
    }

    /// Looks up whether a table has a newer definition now, if the batch has only appended.
    pub(crate) fn look_for_newer(&mut self, table: &Table) -> Result<Option<Table>> {
        if self.changes.has_looked() || is_temporary(table.id) {
            return Ok(None);
        }
        let newer = ReadSnapshot::take(&self.handle.shared)?
            .table_by_id(table.id)
            .filter(|now| now.version > table.version)
            .cloned();
        if let Some(newer) = &newer {
            self.switch_definition(newer)?;
        }
        Ok(newer)
    }

    /// Makes later rows of a table follow a newer definition. Earlier rows are kept if they are valid under it.
    ///
    /// Errors: [`Conflict`](atsdb_core::ErrorKind::Conflict) if they are not.
    fn switch_definition(&mut self, newer: &Table) -> Result<()> {
        if self.changes.base().is_some() || self.changes.present_version(newer.id) == Some(newer.version) {
            return Ok(());
        }
        if self.drafts.has(newer.id) {
            return Err(changed_meanwhile(&newer.definition));
        }
        if self.chunks.find_writer(newer.id).is_some_and(|writer| writer.version != newer.version)
            && let Some(mut writer) = self.chunks.take_writer(newer.id)
        {
            if self.keyed.has_waiting(newer.id) || !takes_rows_of(&newer.definition, &writer.definition) {
                return Err(changed_meanwhile(&writer.definition));
            }
            let drained = writer.slices.drain();
            for chunk in self.note_half_done(drained)? {
                let encoded = self.chunks.encode(newer.id, &writer.definition, chunk);
                self.note_half_done(encoded)?;
            }
            // The rows are valid under this definition, whether or not more of them follow: the next is compared with
            // it.
            self.chunks.writer(newer);
            self.changes.references_mut().reread_added(newer.id);
        }
        self.changes.rely_on_newer(newer);
        Ok(())
    }

    /// Bases a change that only adds rows on the present definitions, if its rows are valid under them. Returns whether
    /// a definition has changed, so that a retry can succeed.
    pub(crate) fn follow_definitions(&self, change: &mut Change) -> Result<bool> {
        let snapshot = ReadSnapshot::take(&self.handle.shared)?;
        let mut has_changed = false;
        for based_on in &mut change.based_on {
            let Some(writer) = self.chunks.find_writer(based_on.table) else { return Ok(false) };
            let Some(now) = snapshot.table_by_id(based_on.table) else {
                return Err(refusal::table_dropped(based_on));
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

    /// Refuses a batch that changes only tables in memory if others have changed definitions that it relies on. A batch
    /// that only adds rows may follow them if its rows are valid under the present definitions.
    pub(crate) fn check_definitions(&self) -> Result<()> {
        let snapshot = ReadSnapshot::take(&self.handle.shared)?;
        let can_follow = !self.changes.has_looked() && !self.pins_definitions;
        for relied_on in self.changes.named_definitions() {
            let Some(now) = snapshot.table_by_id(relied_on.table) else {
                return Err(refusal::table_dropped(&relied_on));
            };
            if now.version == relied_on.version {
                continue;
            }
            let writer = self.chunks.find_writer(relied_on.table).filter(|_| can_follow);
            if !writer.is_some_and(|writer| takes_rows_of(&now.definition, &writer.definition)) {
                return Err(changed_meanwhile(&now.definition));
            }
        }
        Ok(())
    }
}
