//! What declarations ask of the engine, each in one commit or in the open transaction.

use super::state::Session;
use atsdb_core::{Result, Table, TableDefinition};

impl Session {
    pub(super) fn create(&self, definition: &TableDefinition) -> Result<Table> {
        match self.in_transaction() {
            true => self.with_batch(|batch| batch.create_table(definition)),
            false => self.engine.create_table(definition),
        }
    }

    /// Drops tables, all or none.
    pub(super) fn drop_all(&self, tables: &[Table]) -> Result<()> {
        match tables {
            // Gives the space back at once.
            [table] if !self.in_transaction() => self.engine.drop_table(table),
            _ => self.with_batch_retried(|batch| tables.iter().try_for_each(|table| batch.drop_table(table))),
        }
    }

    /// Puts a definition in the place of a table's.
    pub(super) fn redefine(&self, table: &Table, to: TableDefinition) -> Result<Table> {
        self.with_batch(|batch| batch.redefine(table, to))
    }

    /// Takes all rows out of tables, at once.
    pub(super) fn empty(&self, tables: &[Table]) -> Result<()> {
        self.with_batch_retried(|batch| tables.iter().try_for_each(|table| batch.truncate(table).map(drop)))
    }
}
