//! `INSERT` of the result of a query. Literals are read directly into columns
//! ([`insert_run`](crate::write::insert_run)). In both cases the statement is one batch, all or nothing.

use super::assign::assign;
use crate::ddl::defaults::{default_array, default_type};
use crate::dml::target::Target;
use crate::run::answer::AnswerRows;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::datatypes::{DataType, Field, Schema};
use atsdb_core::{Column, ConflictPolicy, Error, ErrorKind, Result, Table};
use atsdb_dialect::text::errors::sql_error;
use atsdb_engine::Batch;
use std::sync::Arc;

/// Adds the rows of a query to a batch, by position, and returns their number.
pub(crate) fn append_rows(batch: &mut Batch, table: &Table, target: &Target, rows: AnswerRows) -> Result<u64> {
    let policy = target.on_duplicate.policy(table)?;
    let mut row_count = 0_u64;
    for_named_rows(table, target, rows, |rows| {
        batch.append_with(table, &rows, policy).map_err(|error| match (error.kind(), row_count) {
            (ErrorKind::InvalidValue, 1..) => error.context(format_args!("after {row_count} rows")),
            _ => error,
        })?;
        row_count += rows.num_rows() as u64;
        Ok(())
    })?;
    Ok(row_count)
}

/// Runs a function for the rows of a query, with the columns' names assigned by position, and defaults added.
pub(crate) fn for_named_rows(
    table: &Table,
    target: &Target,
    rows: AnswerRows,
    mut take: impl FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    let found = rows.schema().fields().len();
    let positions = target.positions_of(table, found)?;
    if found != positions.len() {
        return Err(wrong_width(table, found, positions.len()));
    }
    let columns = || positions.iter().map(|at| &table.definition.columns[*at]);
    // Values that do not count are left out, and the table numbers the rows.
    let counts: Vec<bool> = columns().map(|column| !target.is_generated(column)).collect();
    let names: Vec<&str> =
        columns().zip(&counts).filter(|(_, counts)| **counts).map(|(column, _)| column.name.as_str()).collect();
    let unnamed = UnnamedColumns::of(table, &positions);
    let mut row_count = 0_u64;
    for rows in rows {
        let rows = rows?;
        let assigned = rows.columns().iter().zip(&positions).zip(&counts).filter(|(_, counts)| **counts);
        let mut arrays: Vec<ArrayRef> = assigned
            .map(|((array, position), _)| assign(&table.definition, *position, &with_values(array), Some(row_count)))
            .collect::<Result<_>>()?;
        let found = arrays.iter().zip(&names);
        let mut fields: Vec<Field> =
            found.map(|(array, name)| Field::new(*name, array.data_type().clone(), true)).collect();
        fields.extend(unnamed.fields());
        arrays.extend(unnamed.arrays(rows.num_rows())?);
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        take(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)?)?;
        row_count += rows.num_rows() as u64;
    }
    Ok(())
}

/// Adds rows that have the columns at some positions, in this order.
pub(crate) fn append_named(
    batch: &mut Batch,
    table: &Table,
    positions: &[usize],
    rows: RecordBatch,
    policy: ConflictPolicy,
) -> Result<()> {
    batch.append_with(table, &named_rows(table, positions, &rows)?, policy)
}

/// Rows that have the columns at some positions, in this order, with names and with the defaults of other columns.
pub(crate) fn named_rows(table: &Table, positions: &[usize], rows: &RecordBatch) -> Result<RecordBatch> {
    let unnamed = UnnamedColumns::of(table, positions);
    let names = positions.iter().map(|position| &table.definition.columns[*position].name);
    let mut fields: Vec<Field> = rows
        .columns()
        .iter()
        .zip(names)
        .map(|(array, name)| Field::new(name, array.data_type().clone(), true))
        .collect();
    fields.extend(unnamed.fields());
    let mut arrays = rows.columns().to_vec();
    arrays.extend(unnamed.arrays(rows.num_rows())?);
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(Error::from)
}

/// The columns that an `INSERT` does not name and that must be supplied all the same: those whose default is a value,
/// and mapped ones, whose NULLs are supplied as plain text to avoid an empty dictionary. The engine supplies what
/// default functions return.
pub(crate) struct UnnamedColumns<'a>(Vec<&'a Column>);

impl<'a> UnnamedColumns<'a> {
    pub(crate) fn of(table: &'a Table, positions: &[usize]) -> Self {
        let columns = table.definition.columns.iter().enumerate();
        let unnamed = columns.filter(|(position, column)| {
            let is_supplied = column.map.is_some() || column.default.is_some();
            is_supplied && column.default_function.is_none() && !positions.contains(position)
        });
        Self(unnamed.map(|(_, column)| column).collect())
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = Field> {
        self.0.iter().map(|column| Field::new(&column.name, default_type(column), true))
    }

    pub(crate) fn arrays(&self, row_count: usize) -> Result<Vec<ArrayRef>> {
        self.0.iter().map(|column| default_array(column, row_count)).collect()
    }
}

/// Converts an array of untyped NULLs, or with an empty dictionary, to plain text.
fn with_values(array: &ArrayRef) -> ArrayRef {
    if array.data_type().is_null() {
        return new_null_array(&DataType::Utf8, array.len());
    }
    match array.as_any_dictionary_opt() {
        None if array.data_type().is_null() => new_null_array(&DataType::Utf8, array.len()),
        Some(dictionary) if dictionary.values().is_empty() => new_null_array(&DataType::Utf8, array.len()),
        _ => Arc::clone(array),
    }
}

pub(crate) fn wrong_width(table: &Table, found: usize, wanted: usize) -> Error {
    sql_error(format!("{found} values for {wanted} columns of table {}", table.definition.name))
        .with_hint("name the columns: INSERT INTO table (a, b) VALUES (1, 2)")
}
