//! The Arrow types of columns.

use arrow::datatypes::{DataType, IntervalUnit, TimeUnit as ArrowUnit};
use atsdb_core::{ColumnType, TimeUnit};

/// The Arrow type that a column's arrays have.
pub(crate) fn arrow_type(column_type: ColumnType, is_mapped: bool) -> DataType {
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
        ColumnType::Text if is_mapped => DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8)),
        ColumnType::Text => DataType::Utf8,
        ColumnType::Decimal { precision, scale } => DataType::Decimal128(precision, scale.cast_signed()),
        ColumnType::Time => DataType::Time64(ArrowUnit::Microsecond),
        ColumnType::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
        ColumnType::Uuid | ColumnType::Json => DataType::Utf8,
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
