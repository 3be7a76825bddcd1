//! Columns with Arrow types that tables do not have. Decimals that no table holds become numbers if they have few
//! digits, lists of integers that no table holds lists of wider ones, and everything else becomes text, with structures
//! and lists that are no arrays of a table as JSON. Texts that are intervals according to their metadata become
//! intervals.

use arrow::array::{Array, ArrayRef, AsArray, IntervalMonthDayNanoArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, IntervalMonthDayNano, IntervalUnit, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use atsdb_codec::{column_type_of, is_interval_text};
use atsdb_core::ColumnType;
use atsdb_core::interval::{Interval, parse_interval};
use std::sync::Arc;

/// Decimals with up to this many digits survive a conversion to DOUBLE and back.
const DOUBLE_DIGITS: u8 = 15;

/// The type that a column is read as; `None` if it is unchanged.
pub(crate) fn read_as(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Decimal128(precision, scale) if is_of_tables(*precision, *scale) => None,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale)
            if is_of_tables(*precision, *scale) =>
        {
            Some(DataType::Decimal128(*precision, *scale))
        }
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => Some(match (precision, scale) {
            (..=18, 0) => DataType::Int64,
            (..=DOUBLE_DIGITS, _) => DataType::Float64,
            _ => DataType::Utf8,
        }),
        DataType::Interval(IntervalUnit::MonthDayNano) => None,
        DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
            match wider_element(element.data_type()) {
                Some(wider) => Some(DataType::new_list(wider, true)),
                None if is_array_of_tables(element) => None,
                None => Some(DataType::Utf8),
            }
        }
        DataType::Duration(_) | DataType::Interval(_) | DataType::Struct(_) | DataType::Map(..) => Some(DataType::Utf8),
        DataType::Dictionary(_, values) => read_as(values),
        _ => None,
    }
}

/// The narrowest type of elements of a table's arrays that has all values of integers which are no such elements.
fn wider_element(element: &DataType) -> Option<DataType> {
    match element {
        DataType::Int8 | DataType::UInt8 => Some(DataType::Int16),
        DataType::UInt16 => Some(DataType::Int32),
        DataType::UInt32 => Some(DataType::Int64),
        _ => None,
    }
}

/// Returns whether a table has arrays of such elements.
fn is_array_of_tables(element: &Field) -> bool {
    let is_read = read_as(element.data_type()).is_none();
    is_read && column_type_of(element).is_some_and(|(column_type, _)| ColumnType::array(column_type).is_some())
}

/// Returns whether a table has decimals with so many digits, and so many of them after the point.
fn is_of_tables(precision: u8, scale: i8) -> bool {
    u8::try_from(scale).is_ok_and(|scale| ColumnType::decimal(precision, scale).is_some())
}

/// The schema that is read.
pub(crate) fn readable_schema(schema: &SchemaRef) -> SchemaRef {
    let field = |field: &Arc<Field>| match read_as(field.data_type()) {
        _ if is_interval_text(field) => {
            Arc::new(Field::new(field.name(), DataType::Interval(IntervalUnit::MonthDayNano), true))
        }
        Some(data_type) => Arc::new(Field::new(field.name(), data_type, true)),
        None => Arc::clone(field),
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// The batch with converted columns.
pub(crate) fn readable(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let schema = readable_schema(&batch.schema());
    let column = |(column, field): (&ArrayRef, &Arc<Field>)| match read_as(column.data_type()) {
        _ if is_interval_text(field) => intervals(column),
        Some(DataType::Utf8) => as_text(column),
        Some(data_type) => cast(column, &data_type),
        None => Ok(Arc::clone(column)),
    };
    let columns = batch.columns().iter().zip(batch.schema_ref().fields());
    let columns = columns.map(column).collect::<Result<Vec<_>, _>>()?;
    // A batch may have rows without columns.
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema, columns, &options)
}

/// Intervals that are written as text.
fn intervals(texts: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let texts = cast(texts, &DataType::Utf8)?;
    let interval = |text: &str| -> Result<IntervalMonthDayNano, ArrowError> {
        let Interval { months, days, nanoseconds } = parse_interval(text, None, None)
            .ok_or_else(|| ArrowError::ParseError(format!("{text:?} is not an interval")))?;
        Ok(IntervalMonthDayNano::new(months, days, nanoseconds))
    };
    let intervals = texts.as_string::<i32>().iter().map(|text| text.map(interval).transpose());
    Ok(Arc::new(IntervalMonthDayNanoArray::from(intervals.collect::<Result<Vec<_>, ArrowError>>()?)))
}

/// Values as text, lists and structures as JSON.
pub(crate) fn as_text(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let array = match array.data_type() {
        DataType::Dictionary(_, values) => cast(array, values)?,
        _ => Arc::clone(array),
    };
    let mut texts = StringBuilder::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            texts.append_null();
            continue;
        }
        let text = match array.data_type() {
            nested if nested.is_nested() => json(&array, row)?,
            _ => plain(&array, row)?,
        };
        texts.append_value(text);
    }
    Ok(Arc::new(texts.finish()))
}

fn plain(array: &dyn Array, row: usize) -> Result<String, ArrowError> {
    let options = FormatOptions::default().with_display_error(false);
    let formatter = ArrayFormatter::try_new(array, &options)?;
    formatter.value(row).try_to_string()
}

/// One value as JSON.
fn json(array: &dyn Array, row: usize) -> Result<String, ArrowError> {
    if array.is_null(row) {
        return Ok("null".to_owned());
    }
    let list = |values: ArrayRef| -> Result<String, ArrowError> {
        let values = (0..values.len()).map(|row| json(&values, row)).collect::<Result<Vec<_>, _>>()?;
        Ok(format!("[{}]", values.join(",")))
    };
    match array.data_type() {
        DataType::List(_) => list(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => list(array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => list(array.as_fixed_size_list().value(row)),
        DataType::Struct(fields) => {
            let structure = array.as_struct();
            let member = |(field, column): (&Arc<Field>, &ArrayRef)| {
                Ok(format!("{}:{}", quoted(field.name()), json(column, row)?))
            };
            let members = fields.iter().zip(structure.columns()).map(member).collect::<Result<Vec<_>, ArrowError>>()?;
            Ok(format!("{{{}}}", members.join(",")))
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let member = |row: usize| {
                Ok(format!("{}:{}", quoted(&plain(entries.column(0), row)?), json(entries.column(1), row)?))
            };
            let members = (0..entries.len()).map(member).collect::<Result<Vec<_>, ArrowError>>()?;
            Ok(format!("{{{}}}", members.join(",")))
        }
        kind if kind.is_numeric() || *kind == DataType::Boolean => {
            let text = plain(array, row)?;
            let is_number = !text.to_ascii_lowercase().contains(['n', 'i']) || text == "true" || text == "false";
            Ok(if is_number { text } else { quoted(&text) })
        }
        _ => Ok(quoted(&plain(array, row)?)),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if control.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
