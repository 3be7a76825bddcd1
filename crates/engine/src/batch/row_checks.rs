//! The CHECK constraints of tables. All rows come by here on their way into a batch: rows with names after they got the
//! types of the table, and others in stored form. Rewritten chunks are tested when they are built
//! ([`rewrite`](crate::read::rewrite)).

use crate::chunk::coerce::coerce;
use crate::chunk::plain::plain;
use crate::read::row_checks::plain_of_stored;
use crate::shared::Shared;
use arrow::array::{ArrayRef, RecordBatch};
use atsdb_core::{Result, Table};

/// The columns that complete rows will have in a table: of its types, and tested.
pub(super) fn coerce_and_check(shared: &Shared, table: &Table, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let columns = coerce(&table.definition, rows)?;
    let column = |position: usize| plain(&columns[position], &table.definition.columns[position]);
    check_rows(shared, table, rows.num_rows(), column)?;
    Ok(columns)
}

/// Refuses rows in stored form that violate a constraint.
pub(crate) fn check_stored_rows(shared: &Shared, table: &Table, columns: &[ArrayRef], row_count: usize) -> Result<()> {
    let definition = &table.definition;
    let column = |position: usize| plain_of_stored(shared, table, &definition.columns[position], &columns[position]);
    check_rows(shared, table, row_count, column)
}

fn check_rows(
    shared: &Shared,
    table: &Table,
    row_count: usize,
    column: impl FnMut(usize) -> Result<ArrayRef>,
) -> Result<()> {
    match shared.row_checks.first_violated(table, |_| true, row_count, column)? {
        Some(check) => Err(table.definition.check_violation(check)),
        None => Ok(()),
    }
}
