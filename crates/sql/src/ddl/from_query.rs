//! The table that `CREATE TABLE ... AS` declares: one column for each column of the query, of a type that can hold its
//! values.

use crate::text::errors::sql_error;
use arrow::datatypes::{DataType, Field, SchemaRef, TimeUnit as ArrowUnit};
use atsdb_codec::declared_type;
use atsdb_core::name::name_key;
use atsdb_core::{ColumnType, MapWidth, Result, TableDefinition, TimeUnit};
use std::collections::HashSet;

/// A definition with the columns of a schema.
pub(crate) fn definition_of(name: &str, schema: &SchemaRef) -> Result<TableDefinition> {
    check_names(&format!("table {name}"), schema)?;
    let mut definition = TableDefinition::new(name);
    for field in schema.fields() {
        let (column_type, map) = type_of(field).ok_or_else(|| no_type(field))?;
        definition = definition.with_column(field.name(), column_type, map);
    }
    Ok(definition)
}

/// The type name of a query's column in `DESCRIBE`.
pub(crate) fn type_name_of(field: &Field) -> String {
    match type_of(field) {
        Some((column_type, _)) => column_type.sql_name().into_owned(),
        None => field.data_type().to_string(),
    }
}

/// The type of a column that holds the values of a query's column, and the width of its indices.
fn type_of(field: &Field) -> Option<(ColumnType, Option<MapWidth>)> {
    match declared_type(field) {
        Some(declared) => Some((declared, None)),
        None => column_type_of(field.data_type()),
    }
}

/// The type of a column that holds all values of an Arrow type, and the width of its indices if these are dictionaries
/// of text; `None` if there is no such column.
pub fn column_type_of(data_type: &DataType) -> Option<(ColumnType, Option<MapWidth>)> {
    use DataType as T;
    let column_type = match data_type {
        T::Boolean => ColumnType::Bool,
        T::Int8 => ColumnType::Int8,
        T::Int16 => ColumnType::Int16,
        T::Int32 => ColumnType::Int32,
        T::Int64 => ColumnType::Int64,
        T::UInt8 => ColumnType::UInt8,
        T::UInt16 => ColumnType::UInt16,
        T::UInt32 => ColumnType::UInt32,
        T::UInt64 => ColumnType::UInt64,
        T::Float16 | T::Float32 => ColumnType::Float32,
        T::Float64 => ColumnType::Float64,
        T::Decimal32(precision, scale) | T::Decimal64(precision, scale) | T::Decimal128(precision, scale) => {
            ColumnType::decimal(*precision, u8::try_from(*scale).ok()?)?
        }
        T::Time32(_) | T::Time64(_) => ColumnType::Time,
        T::Interval(_) | T::Duration(_) => ColumnType::Interval,
        T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Null => ColumnType::Text,
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => ColumnType::Binary,
        T::Timestamp(unit, _) => ColumnType::Timestamp(match unit {
            ArrowUnit::Second => TimeUnit::Second,
            ArrowUnit::Millisecond => TimeUnit::Millisecond,
            ArrowUnit::Microsecond => TimeUnit::Microsecond,
            ArrowUnit::Nanosecond => TimeUnit::Nanosecond,
        }),
        T::Date32 => ColumnType::Date,
        T::Date64 => ColumnType::Timestamp(TimeUnit::Millisecond),
        T::Dictionary(key, values) if values.is_string() => {
            let width = match key.as_ref() {
                T::UInt8 => MapWidth::U8,
                T::UInt16 => MapWidth::U16,
                _ => MapWidth::U32,
            };
            return Some((ColumnType::Text, Some(width)));
        }
        T::Dictionary(_, values) => return column_type_of(values),
        _ => return None,
    };
    Some((column_type, None))
}

fn no_type(field: &Field) -> atsdb_core::Error {
    sql_error(format!("column {}: no table holds the type {}", field.name(), field.data_type()))
        .with_hint(format!("cast it: CAST({} AS DOUBLE), or AS TEXT", field.name()))
}

/// Checks that the names of columns are distinct.
pub(crate) fn check_names(what: &str, schema: &SchemaRef) -> Result<()> {
    let mut names = HashSet::new();
    match schema.fields().iter().find(|field| !names.insert(name_key(field.name()))) {
        Some(field) => Err(sql_error(format!("{what} would have two columns named {}", field.name()))
            .with_hint(format!("give one another name: ... AS {}_2", field.name()))),
        None => Ok(()),
    }
}
