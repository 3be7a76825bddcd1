//! Brings a caller's batch into the columns of a table: order, types, NULLs. A value that would change is refused, and
//! the error names its row and column.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Datum, RecordBatch, new_null_array};
use arrow::compute::kernels::cmp::distinct;
use arrow::compute::{CastOptions, cast_with_options};
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
    let array_of = |(position, column): (usize, &Column)| match find(column, position) {
        Some(found) => coerce_column(definition, column, batch.column(found), RowNumbers::Known),
        None if column.nullable => Ok(new_null_array(&logical_type(column), batch.num_rows())),
        None => Err(Error::invalid(format!("table {}: column {} is missing", definition.name, column.name))
            .with_hint("the column is NOT NULL, so every batch must contain it")),
    };
    definition.columns.iter().enumerate().map(array_of).collect()
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

/// Whether errors name the row by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowNumbers {
    /// The rows are in the caller's order: errors count them from 1.
    Known,
    /// The order of the rows is unknown to the caller.
    Unknown,
}

impl RowNumbers {
    /// The beginning of an error for a row, counted from 0.
    fn prefix(self, row: usize) -> String {
        match self {
            Self::Known => format!("row {}: ", row + 1),
            Self::Unknown => String::new(),
        }
    }
}

/// Converts an array to a column's logical type. For a mapped column the result may also be plain text.
pub(crate) fn coerce_column(
    definition: &TableDefinition,
    column: &Column,
    array: &ArrayRef,
    rows: RowNumbers,
) -> Result<ArrayRef> {
    let place = |error: Error| error.context(format_args!("table {}, column {}", definition.name, column.name));
    if !column.nullable
        && let Some(row) = first_null(array.as_ref())
    {
        let what = if definition.time_column() == Some(column) { "the time" } else { "a value" };
        return Err(place(Error::invalid(format!("{}{what} is NULL", rows.prefix(row)))));
    }
    let wanted = logical_type(column);
    let array = match (array.data_type(), &wanted) {
        (found, wanted) if found == wanted => array.clone(),
        (DataType::Utf8, DataType::Dictionary(..)) => array.clone(),
        (DataType::Dictionary(_, value), DataType::Dictionary(..)) if **value == DataType::Utf8 => array.clone(),
        // Other types become plain text before they are mapped.
        (_, DataType::Dictionary(..)) => convert(array, &DataType::Utf8, rows).map_err(place)?,
        (_, wanted) => convert(array, wanted, rows).map_err(place)?,
    };
    refuse_long_values(array.as_ref(), rows).map_err(place)?;
    Ok(array)
}

/// The row of the first NULL. In a dictionary array the NULL may be in the dictionary.
fn first_null(array: &dyn Array) -> Option<usize> {
    if array.logical_null_count() == 0 {
        return None;
    }
    array.logical_nulls().and_then(|nulls| (0..nulls.len()).find(|row| nulls.is_null(*row)))
}

/// Converts an array to another type with the same values.
///
/// Errors: [`ErrorKind::InvalidValue`], which names the first row whose value would change.
fn convert(array: &ArrayRef, wanted: &DataType, rows: RowNumbers) -> Result<ArrayRef> {
    let found = array.data_type().clone();
    let options = CastOptions { safe: true, ..Default::default() };
    let refuse = |row: usize| {
        let value = arrow::util::display::array_value_to_string(array, row).unwrap_or_else(|_| "the value".into());
        Error::invalid(format!("{}{value} does not fit {wanted}", rows.prefix(row)))
    };
    let converted = cast_with_options(array, wanted, &options).map_err(|error| {
        Error::new(ErrorKind::InvalidValue, format!("{found} values cannot be converted to {wanted}"))
            .with_source(error)
    })?;
    let lost = |row: usize| converted.is_null(row) && !array.is_null(row);
    if converted.null_count() > array.logical_null_count()
        && let Some(row) = (0..array.len()).find(|row| lost(*row))
    {
        return Err(refuse(row));
    }
    let is_text = |kind: &DataType| matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    if is_text(&found) || is_text(wanted) || matches!(found, DataType::Dictionary(..)) {
        return Ok(converted);
    }
    let back = cast_with_options(&converted, &found, &options)?;
    let changed = distinct(&back as &dyn Datum, array as &dyn Datum)?;
    match first_true(&changed) {
        Some(row) => Err(refuse(row)),
        None => Ok(converted),
    }
}

fn first_true(mask: &BooleanArray) -> Option<usize> {
    mask.values().set_indices().next()
}

fn refuse_long_values(array: &dyn Array, rows: RowNumbers) -> Result<()> {
    let offsets = match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value_offsets(),
        DataType::Binary => array.as_binary::<i32>().value_offsets(),
        _ => return Ok(()),
    };
    let total = (offsets[offsets.len() - 1] - offsets[0]) as usize;
    if total <= VALUE_BYTES_MAX {
        return Ok(());
    }
    match offsets.windows(2).position(|pair| (pair[1] - pair[0]) as usize > VALUE_BYTES_MAX) {
        Some(row) => {
            let message = format!("{}a value has more than {} MiB", rows.prefix(row), VALUE_BYTES_MAX >> 20);
            Err(Error::new(ErrorKind::Limit, message))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray};
    use arrow::datatypes::TimeUnit as ArrowUnit;
    use std::sync::Arc;

    #[test]
    fn what_would_change_is_refused_with_its_row() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.5]));
        let message = convert(&floats, &DataType::Int64, RowNumbers::Known).unwrap_err().to_string();
        assert!(message.contains("row 2") && message.contains("2.5"), "{message}");
        let wide: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(1 << 40)]));
        assert!(convert(&wide, &DataType::Int32, RowNumbers::Known).unwrap_err().to_string().contains("row 3"));
        let unrepresentable: ArrayRef = Arc::new(Int64Array::from(vec![(1 << 53) + 1]));
        assert!(convert(&unrepresentable, &DataType::Float64, RowNumbers::Known).is_err());
        let fine: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1_500_001]));
        assert!(convert(&fine, &DataType::Timestamp(ArrowUnit::Millisecond, None), RowNumbers::Known).is_err());
    }

    #[test]
    fn what_stays_the_same_is_converted() {
        let narrow: ArrayRef = Arc::new(Int32Array::from(vec![Some(7), None]));
        let wide = convert(&narrow, &DataType::Int64, RowNumbers::Known).unwrap();
        assert_eq!(wide.as_ref(), &Int64Array::from(vec![Some(7), None]));
        let text: ArrayRef = Arc::new(StringArray::from(vec!["12", "x"]));
        assert!(convert(&text, &DataType::Int64, RowNumbers::Known).unwrap_err().to_string().contains("row 2: x"));
    }
}
