//! The Arrow types of columns: the logical type that users see, and the stored type in pages with its number in the
//! page header.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit as ArrowUnit};
use atsdb_core::{Column, ColumnType, MapWidth, TableDefinition, TimeUnit};
use std::sync::Arc;

/// Returns the type of a column for users: a mapped column is a dictionary of text, a timestamp is in UTC.
pub fn logical_type(column: &Column) -> DataType {
    match column.map {
        Some(width) => DataType::Dictionary(Box::new(index_type(width)), Box::new(DataType::Utf8)),
        None => plain_type(column.column_type),
    }
}

/// Returns the type of a column in its pages: that of its index for a mapped column, else its logical type.
pub fn stored_type(column: &Column) -> DataType {
    match column.map {
        Some(width) => index_type(width),
        None => plain_type(column.column_type),
    }
}

/// Returns the Arrow schema of a table: its columns' names, logical types and nullability.
pub fn arrow_schema(definition: &TableDefinition) -> SchemaRef {
    let field = |column: &Column| Field::new(&column.name, logical_type(column), column.nullable);
    Arc::new(Schema::new(definition.columns.iter().map(field).collect::<Vec<_>>()))
}

fn index_type(width: MapWidth) -> DataType {
    match width {
        MapWidth::U8 => DataType::UInt8,
        MapWidth::U16 => DataType::UInt16,
        MapWidth::U32 => DataType::UInt32,
    }
}

fn plain_type(column_type: ColumnType) -> DataType {
    match column_type {
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Int8 => DataType::Int8,
        ColumnType::Int16 => DataType::Int16,
        ColumnType::Int32 => DataType::Int32,
        ColumnType::Int64 => DataType::Int64,
        ColumnType::UInt8 => DataType::UInt8,
        ColumnType::UInt16 => DataType::UInt16,
        ColumnType::UInt32 => DataType::UInt32,
        ColumnType::UInt64 => DataType::UInt64,
        ColumnType::Float32 => DataType::Float32,
        ColumnType::Float64 => DataType::Float64,
        ColumnType::Text => DataType::Utf8,
        ColumnType::Binary => DataType::Binary,
        ColumnType::Timestamp(unit) => DataType::Timestamp(arrow_unit(unit), Some("UTC".into())),
        ColumnType::Date => DataType::Date32,
    }
}

fn arrow_unit(unit: TimeUnit) -> ArrowUnit {
    match unit {
        TimeUnit::Second => ArrowUnit::Second,
        TimeUnit::Millisecond => ArrowUnit::Millisecond,
        TimeUnit::Microsecond => ArrowUnit::Microsecond,
        TimeUnit::Nanosecond => ArrowUnit::Nanosecond,
    }
}

/// Returns the number of a column's stored type in page headers. Numbers are never changed or reused.
pub(crate) fn stored_type_number(column: &Column) -> u8 {
    match (column.map, column.column_type) {
        (Some(MapWidth::U8), _) | (None, ColumnType::UInt8) => 6,
        (Some(MapWidth::U16), _) | (None, ColumnType::UInt16) => 7,
        (Some(MapWidth::U32), _) | (None, ColumnType::UInt32) => 8,
        (None, ColumnType::Bool) => 1,
        (None, ColumnType::Int8) => 2,
        (None, ColumnType::Int16) => 3,
        (None, ColumnType::Int32) => 4,
        (None, ColumnType::Int64) => 5,
        (None, ColumnType::UInt64) => 9,
        (None, ColumnType::Float32) => 10,
        (None, ColumnType::Float64) => 11,
        (None, ColumnType::Text) => 12,
        (None, ColumnType::Binary) => 13,
        (None, ColumnType::Timestamp(TimeUnit::Second)) => 14,
        (None, ColumnType::Timestamp(TimeUnit::Millisecond)) => 15,
        (None, ColumnType::Timestamp(TimeUnit::Microsecond)) => 16,
        (None, ColumnType::Timestamp(TimeUnit::Nanosecond)) => 17,
        (None, ColumnType::Date) => 18,
    }
}

/// Returns the type of a page's values from the stored type's number in its header, if each of them is a value of the
/// column: the column's own type, or a narrower one of its kind. Returns `None` otherwise.
pub(crate) fn stored_type_of_number(number: u8, column: &Column) -> Option<DataType> {
    let own = stored_type_number(column);
    Some(match (number, own) {
        (number, own) if number == own => stored_type(column),
        (2, 3..=5) => DataType::Int8,
        (3, 4..=5) => DataType::Int16,
        (4, 5) => DataType::Int32,
        (6, 7..=9) => DataType::UInt8,
        (7, 8..=9) => DataType::UInt16,
        (8, 9) => DataType::UInt32,
        (10, 11) => DataType::Float32,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_types_names_each_and_its_arrow_type() {
        let page = include_str!("../../../docs/reference/types.md");
        let (_, rows) = page.split_once("|---|---|---|---|---|---|---|\n").unwrap();
        let rows = rows.lines().take_while(|line| line.starts_with('|'));
        let written: Vec<(&str, &str)> = rows
            .map(|row| {
                let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
                (cells[1], cells[3])
            })
            .collect();
        let is = ColumnType::ALL.map(|column_type| (column_type.sql_name(), plain_type(column_type).to_string()));
        assert_eq!(written, is.each_ref().map(|(sql, arrow)| (*sql, arrow.as_str())));
    }
}
