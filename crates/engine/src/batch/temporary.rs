//! Temporary tables in a batch: those that it creates, changes and drops in its session.

use crate::batch::Batch;
use crate::shared::temporary::{OnCommit, TemporaryTable, TemporaryTables, check_name, gone};
use atsdb_core::{Result, Table, TableDefinition};

impl Batch {
    /// Lets the batch see and change the temporary tables of a session. Its commit changes those of the session.
    pub fn with_temporary(mut self, session: &TemporaryTables) -> Self {
        *self.changes.temporary_mut() = session.committed();
        self.session = Some(session.clone());
        self
    }

    /// Creates a temporary table, which is in memory, or a temporary view. It may have the name of a stored table,
    /// which the session then does not see.
    pub fn create_temporary(&mut self, definition: &TableDefinition, on_commit: OnCommit) -> Result<Table> {
        check_name(self.changes.temporary(), None, &definition.name)?;
        let temporary = TemporaryTable::new(definition, on_commit)?;
        let table = temporary.table.clone();
        self.changes.temporary_mut().push(temporary);
        Ok(table)
    }

    /// The temporary tables that the batch sees.
    pub(crate) fn temporary_tables(&self) -> Vec<Table> {
        self.changes.temporary().iter().map(|temporary| temporary.table.clone()).collect()
    }

    /// Drops a temporary table.
    pub(crate) fn drop_temporary(&mut self, table: &Table) {
        self.drafts.drop_table(table.id);
        self.changes.temporary_mut().retain(|temporary| temporary.table.id != table.id);
    }

    /// Gives a temporary table another definition.
    pub(crate) fn redefine_temporary(&mut self, table: &Table, to: TableDefinition) -> Result<Table> {
        check_name(self.changes.temporary(), Some(table.id), &to.name)?;
        self.changes.name_definition(table)?;
        let done = self.redefine_resident(table, &to);
        self.note_half_done(done)?;
        let mut own = self.changes.temporary_mut().iter_mut();
        let own = own.find(|own| own.table.id == table.id).ok_or_else(|| gone(table))?;
        own.table = Table { id: table.id, version: table.version.next(), definition: to };
        Ok(own.table.clone())
    }

    /// Applies what temporary tables declare for the end of a transaction.
    pub(crate) fn end_temporary(&mut self) -> Result<()> {
        for TemporaryTable { table, on_commit } in self.changes.temporary().to_vec() {
            match on_commit {
                OnCommit::PreserveRows => {}
                OnCommit::DeleteRows => drop(self.draft(&table)?.truncate()?),
                OnCommit::Drop => self.drop_temporary(&table),
            }
        }
        Ok(())
    }
}
