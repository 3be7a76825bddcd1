//! The CHECK constraints of tables in a batch. All rows come by here on their way in: rows with names after they got
//! the types of the table, and others in stored form. Rewritten chunks are tested when they are built
//! ([`rewrite`](crate::read::rewrite)).

use crate::batch::Batch;
use crate::chunk::coerce::coerce;
use crate::chunk::plain::plain;
use crate::read::row_checks::plain_of_stored;
use arrow::array::{ArrayRef, RecordBatch};
use atsdb_core::{Result, Table};

impl Batch {
    /// The columns that rows will have in a table: complete, of its types, and tested.
    pub(crate) fn coerced(&self, table: &Table, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let columns = coerce(&table.definition, self.numbered(table, rows)?.as_ref())?;
        let column = |position: usize| plain(&columns[position], &table.definition.columns[position]);
        self.check_rows(table, rows.num_rows(), column)?;
        Ok(columns)
    }

    /// Refuses rows in stored form that violate a constraint.
    pub(crate) fn check_stored_rows(&self, table: &Table, columns: &[ArrayRef], row_count: usize) -> Result<()> {
        let shared = &self.handle.shared;
        let definition = &table.definition;
        let column =
            |position: usize| plain_of_stored(shared, table, &definition.columns[position], &columns[position]);
        self.check_rows(table, row_count, column)
    }

    fn check_rows(&self, table: &Table, row_count: usize, column: impl FnMut(usize) -> Result<ArrayRef>) -> Result<()> {
        match self.handle.shared.row_checks.first_violated(table, |_| true, row_count, column)? {
            Some(check) => Err(table.definition.check_violation(check)),
            None => Ok(()),
        }
    }
}
