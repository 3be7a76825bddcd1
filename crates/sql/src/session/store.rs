//! Changes of the store by declarations, each in its own commit or in the open transaction.

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
            // This also frees the space at once.
            [table] if !self.in_transaction() => self.engine.drop_table(table),
            _ => self.with_batch_retried(|batch| tables.iter().try_for_each(|table| batch.drop_table(table))),
        }
    }

    /// Replaces the definition of a table.
    pub(super) fn redefine(&self, table: &Table, to: TableDefinition) -> Result<Table> {
        self.with_batch(|batch| batch.redefine(table, to))
    }

    /// Removes all rows of tables in one commit.
    pub(super) fn empty(&self, tables: &[Table]) -> Result<()> {
        self.with_batch_retried(|batch| tables.iter().try_for_each(|table| batch.truncate(table).map(drop)))
    }
}
