//! Appending rows from Arrow batches, without SQL.

use super::state::Session;
use crate::run::answer::Answer;
use arrow::array::RecordBatch;
use atsdb_core::name::{same_name, unknown_name};
use atsdb_core::{BatchId, Error, Result, Table};
use atsdb_engine::{Batch, TemporaryTables};

impl Session {
    /// Appends rows to a table, in the open transaction or in a separate batch. Columns are matched by name. Returns
    /// the number of rows that were stored: a table may leave out rows whose keys exist. After an error no row is
    /// stored, and an open transaction can only be rolled back.
    ///
    /// Errors: [`NotFound`](atsdb_core::ErrorKind::NotFound) without such a table, and those of
    /// [`Batch::append`](atsdb_engine::Batch::append) and [`Batch::commit`](atsdb_engine::Batch::commit).
    pub fn append(&self, table: &str, rows: &RecordBatch) -> Result<u64> {
        self.append_to(&self.table_named(table)?, rows)
    }

    /// Appends rows as [`append`](Self::append) does, to one of several tables that may have the same name.
    pub fn append_to(&self, table: &Table, rows: &RecordBatch) -> Result<u64> {
        self.begin_times();
        let appended = self.insert(|batch| batch.append(table, rows).map(|()| rows.num_rows() as u64));
        if appended.is_err() {
            self.fail_transaction();
        }
        match appended? {
            Answer::Done { row_count: Some(row_count), .. } => Ok(row_count),
            Answer::Done { .. } | Answer::Rows(_) => Err(Error::internal("an append without a number of rows")),
        }
    }

    /// Begins a batch for rows of a table, beside the open transaction. The batch sees the temporary tables of the
    /// session, and the numbers that it gives to rows count as drawn by the session. A batch with an id is stored once.
    ///
    /// Errors: [`Usage`](atsdb_core::ErrorKind::Usage) for an id with a temporary table, whose rows the store would
    /// remember longer than they exist.
    pub fn begin_batch(&self, table: &Table, id: Option<BatchId>) -> Result<Batch> {
        if id.is_some() && TemporaryTables::contain(table) {
            let name = &table.definition.name;
            return Err(Error::usage(format!("rows of the temporary table {name} cannot be a batch with an id"))
                .with_hint("leave the id out: ids are kept longer than the rows"));
        }
        Ok(self.engine.batch(id).with_temporary(&self.temporary).with_numbers(&self.numbers))
    }

    /// Returns whether the session has temporary tables or views, other than those of the open transaction.
    pub fn has_temporary_tables(&self) -> bool {
        !self.temporary.is_empty()
    }

    /// The table with this name, as the open transaction sees it.
    ///
    /// Errors: [`NotFound`](atsdb_core::ErrorKind::NotFound) with the most similar name.
    pub fn table_named(&self, name: &str) -> Result<Table> {
        let tables = self.tables()?;
        // A table in another schema than `public` is named with it.
        match tables.iter().find(|table| same_name(&table.definition.name, name)) {
            Some(table) => Ok(table.clone()),
            None => Err(unknown_name("table", name, tables.iter().map(|table| table.definition.name.as_str()))),
        }
    }
}
