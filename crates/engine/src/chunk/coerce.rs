//! Brings a caller's batch into the columns of a table: order, types, lengths of texts, NULLs. A value that would
//! change is refused, and the error names its row and column.

use crate::chunk::fitting::fitting;
use crate::chunk::long_values::LongValues;
use crate::chunk::lossless::{RowNumbers, convert};
use crate::chunk::text_length::fit_texts;
use arrow::array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow::datatypes::DataType;
use atsdb_codec::logical_type;
use atsdb_core::limits::VALUE_BYTES_MAX;
use atsdb_core::name::{same_name, unknown_name};
use atsdb_core::{Column, Error, ErrorKind, Result, TableDefinition};

/// The arrays of a batch in the order of the table's columns, each of its column's logical type. A mapped column may
/// also be plain text or a dictionary with other keys.
pub(crate) fn coerce(definition: &TableDefinition, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
    refuse_unknown_columns(definition, batch)?;
    let schema = batch.schema();
    let find = |column: &Column, position: usize| {
        // Columns usually come in the table's order.
        if schema.fields().get(position).is_some_and(|field| same_name(field.name(), &column.name)) {
            return Some(position);
        }
        schema.fields().iter().position(|field| same_name(field.name(), &column.name))
    };
    let columns = definition.columns.iter().enumerate();
    let found: Vec<Option<usize>> = columns.map(|(position, column)| find(column, position)).collect();
    // Each field is a column of the table. If not every field is found, two of them are one column.
    if found.iter().flatten().count() < schema.fields().len() {
        definition.check_given(schema.fields().iter().map(|field| field.name().as_str()))?;
    }
    let array_of = |(found, column): (Option<usize>, &Column)| match found {
        Some(found) => coerce_column(definition, column, batch.column(found), RowNumbers::Known),
        None if column.nullable => Ok(new_null_array(&logical_type(column), batch.num_rows())),
        None => Err(Error::invalid(format!("table {}: column {} is missing", definition.name, column.name))
            .with_hint("the column is NOT NULL, so every batch must contain it")),
    };
    found.into_iter().zip(&definition.columns).map(array_of).collect()
}

fn refuse_unknown_columns(definition: &TableDefinition, batch: &RecordBatch) -> Result<()> {
    let names = || definition.columns.iter().map(|column| column.name.as_str());
    for (position, field) in batch.schema().fields().iter().enumerate() {
        let known = match definition.columns.get(position) {
            Some(column) if same_name(&column.name, field.name()) => true,
            _ => names().any(|name| same_name(name, field.name())),
        };
        if !known {
            let error = unknown_name("column", field.name(), names());
            return Err(error.context(format_args!("table {}", definition.name)));
        }
    }
    Ok(())
}

/// Converts an array to a column's logical type. For a mapped column the result may also be plain text.
pub(crate) fn coerce_column(
    definition: &TableDefinition,
    column: &Column,
    array: &ArrayRef,
    rows: RowNumbers,
) -> Result<ArrayRef> {
    let in_column = |error: Error| error.context(format_args!("table {}, column {}", definition.name, column.name));
    if !column.nullable
        && let Some(row) = first_null(array.as_ref())
    {
        let what = if definition.time_column() == Some(column) { "the time" } else { "a value" };
        return Err(in_column(Error::invalid(format!("{}{what} is NULL", rows.prefix(row)))));
    }
    let array = logical_array(column, array, rows).map_err(in_column)?;
    refuse_long_values(&array, rows).map_err(in_column)?;
    Ok(array)
}

/// Converts an array to a column's logical type and length. For a mapped column the result may also be plain text.
fn logical_array(column: &Column, array: &ArrayRef, rows: RowNumbers) -> Result<ArrayRef> {
    let array = typed_array(column, array, rows)?;
    match column.length {
        Some(length) => fit_texts(length, array, rows),
        None => Ok(array),
    }
}

fn typed_array(column: &Column, array: &ArrayRef, rows: RowNumbers) -> Result<ArrayRef> {
    let wanted = logical_type(column);
    if let Some(fit) = fitting(column, array, rows)? {
        return Ok(fit);
    }
    match (array.data_type(), &wanted) {
        (found, wanted) if found == wanted => Ok(array.clone()),
        (DataType::Utf8, DataType::Dictionary(..)) => Ok(array.clone()),
        (DataType::Dictionary(_, value), DataType::Dictionary(..)) if **value == DataType::Utf8 => Ok(array.clone()),
        // Other types become plain text before they are mapped.
        (_, DataType::Dictionary(..)) => convert(array, &DataType::Utf8, rows),
        (_, wanted) => convert(array, wanted, rows),
    }
}

/// Converts the arrays of a batch to the logical types of these columns, which come in its order. The values are those
/// that a table with these columns would have after it was given the batch.
///
/// # Errors
///
/// [`ErrorKind::InvalidValue`] for a value that does not fit its column; the message names the column.
pub fn logical_arrays(columns: &[Column], batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let array = |(column, array): (&Column, &ArrayRef)| {
        logical_array(column, array, RowNumbers::Unknown)
            .map_err(|error| error.context(format_args!("column {}", column.name)))
    };
    columns.iter().zip(batch.columns()).map(array).collect()
}

/// The row of the first NULL. In a dictionary array the NULL may be in the dictionary.
fn first_null(array: &dyn Array) -> Option<usize> {
    if array.logical_null_count() == 0 {
        return None;
    }
    array.logical_nulls().and_then(|nulls| (0..nulls.len()).find(|row| nulls.is_null(*row)))
}

fn refuse_long_values(array: &ArrayRef, rows: RowNumbers) -> Result<()> {
    let Some(values) = LongValues::of(array).filter(|values| values.total() > VALUE_BYTES_MAX) else { return Ok(()) };
    match (0..values.row_count()).find(|row| values.byte_count(*row..row + 1) > VALUE_BYTES_MAX) {
        Some(row) => {
            let message = format!("{}a value has more than {} MiB", rows.prefix(row), VALUE_BYTES_MAX >> 20);
            Err(Error::new(ErrorKind::Limit, message))
        }
        None => Ok(()),
    }
}
