//! The array of a column, while its values arrive.

use crate::value::Value;
use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Float32Builder, Float64Builder,
    Int8Builder, Int16Builder, Int32Builder, Int64Builder, IntervalMonthDayNanoBuilder, PrimitiveBuilder,
    StringBuilder, Time64MicrosecondBuilder, TimestampMicrosecondBuilder, TimestampMillisecondBuilder,
    TimestampNanosecondBuilder, TimestampSecondBuilder, UInt8Builder, UInt16Builder, UInt32Builder, UInt64Builder,
};
use arrow::datatypes::{ArrowPrimitiveType, DataType};
use atsdb_core::time_of_day::DAY_MICROSECONDS;
use atsdb_core::{ColumnType, TimeUnit, decimal};
use std::sync::Arc;

/// The builder of a column's arrays, which have the type that the column has for users.
#[derive(Debug)]
pub(crate) enum ColumnBuilder {
    Bool(BooleanBuilder),
    Int8(Int8Builder),
    Int16(Int16Builder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    UInt8(UInt8Builder),
    UInt16(UInt16Builder),
    UInt32(UInt32Builder),
    UInt64(UInt64Builder),
    Float32(Float32Builder),
    Float64(Float64Builder),
    Text(StringBuilder),
    Binary(BinaryBuilder),
    Second(TimestampSecondBuilder),
    Millisecond(TimestampMillisecondBuilder),
    Microsecond(TimestampMicrosecondBuilder),
    Nanosecond(TimestampNanosecondBuilder),
    Date(Date32Builder),
    /// With the number of digits.
    Decimal(Decimal128Builder, u8),
    Time(Time64MicrosecondBuilder),
    Interval(IntervalMonthDayNanoBuilder),
}

/// The value is none of those that the column's type has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutOfRange;

impl ColumnBuilder {
    pub(crate) fn new(column_type: ColumnType) -> Self {
        match column_type {
            ColumnType::Bool => Self::Bool(BooleanBuilder::new()),
            ColumnType::Int8 => Self::Int8(Int8Builder::new()),
            ColumnType::Int16 => Self::Int16(Int16Builder::new()),
            ColumnType::Int32 => Self::Int32(Int32Builder::new()),
            ColumnType::Int64 => Self::Int64(Int64Builder::new()),
            ColumnType::UInt8 => Self::UInt8(UInt8Builder::new()),
            ColumnType::UInt16 => Self::UInt16(UInt16Builder::new()),
            ColumnType::UInt32 => Self::UInt32(UInt32Builder::new()),
            ColumnType::UInt64 => Self::UInt64(UInt64Builder::new()),
            ColumnType::Float32 => Self::Float32(Float32Builder::new()),
            ColumnType::Float64 => Self::Float64(Float64Builder::new()),
            ColumnType::Text | ColumnType::Uuid | ColumnType::Json => Self::Text(StringBuilder::new()),
            ColumnType::Binary => Self::Binary(BinaryBuilder::new()),
            ColumnType::Timestamp(TimeUnit::Second) => Self::Second(in_utc(TimestampSecondBuilder::new())),
            ColumnType::Timestamp(TimeUnit::Millisecond) => {
                Self::Millisecond(in_utc(TimestampMillisecondBuilder::new()))
            }
            ColumnType::Timestamp(TimeUnit::Microsecond) => {
                Self::Microsecond(in_utc(TimestampMicrosecondBuilder::new()))
            }
            ColumnType::Timestamp(TimeUnit::Nanosecond) => Self::Nanosecond(in_utc(TimestampNanosecondBuilder::new())),
            ColumnType::Date => Self::Date(Date32Builder::new()),
            ColumnType::Decimal { precision, scale } => {
                let data_type = DataType::Decimal128(precision, scale.cast_signed());
                Self::Decimal(Decimal128Builder::new().with_data_type(data_type), precision)
            }
            ColumnType::Time => Self::Time(Time64MicrosecondBuilder::new()),
            ColumnType::Interval => Self::Interval(IntervalMonthDayNanoBuilder::new()),
        }
    }

    pub(crate) fn append(&mut self, value: Value<'_>) -> Result<(), OutOfRange> {
        match self {
            Self::Bool(array) => match value {
                Value::Null => array.append_null(),
                Value::Bool(value) => array.append_value(value),
                _ => return Err(OutOfRange),
            },
            Self::Int8(array) => return append_int(array, value),
            Self::Int16(array) => return append_int(array, value),
            Self::Int32(array) => return append_int(array, value),
            Self::Int64(array) => return append_int(array, value),
            Self::UInt8(array) => return append_int(array, value),
            Self::UInt16(array) => return append_int(array, value),
            Self::UInt32(array) => return append_int(array, value),
            Self::UInt64(array) => return append_int(array, value),
            Self::Float32(array) => match value {
                Value::Null => array.append_null(),
                Value::Float(value) => array.append_value(value as f32),
                _ => return Err(OutOfRange),
            },
            Self::Float64(array) => match value {
                Value::Null => array.append_null(),
                Value::Float(value) => array.append_value(value),
                _ => return Err(OutOfRange),
            },
            Self::Text(array) => match value {
                Value::Null => array.append_null(),
                Value::Text(value) => array.append_value(value),
                _ => return Err(OutOfRange),
            },
            Self::Binary(array) => match value {
                Value::Null => array.append_null(),
                Value::Bytes(value) => array.append_value(value),
                _ => return Err(OutOfRange),
            },
            Self::Second(array) => return append_int(array, value),
            Self::Millisecond(array) => return append_int(array, value),
            Self::Microsecond(array) => return append_int(array, value),
            Self::Nanosecond(array) => return append_int(array, value),
            Self::Date(array) => return append_int(array, value),
            Self::Decimal(array, precision) => match value {
                Value::Int(digits) if !decimal::fits(digits, *precision) => return Err(OutOfRange),
                value => return append_int(array, value),
            },
            Self::Time(array) => match value {
                Value::Int(time) if !(0..i128::from(DAY_MICROSECONDS)).contains(&time) => return Err(OutOfRange),
                value => return append_int(array, value),
            },
            Self::Interval(array) => match value {
                Value::Null => array.append_null(),
                Value::Interval(value) => array.append_value(value),
                _ => return Err(OutOfRange),
            },
        }
        Ok(())
    }

    /// The array of all values; the builder is empty afterwards.
    pub(crate) fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Bool(array) => Arc::new(array.finish()),
            Self::Int8(array) => Arc::new(array.finish()),
            Self::Int16(array) => Arc::new(array.finish()),
            Self::Int32(array) => Arc::new(array.finish()),
            Self::Int64(array) => Arc::new(array.finish()),
            Self::UInt8(array) => Arc::new(array.finish()),
            Self::UInt16(array) => Arc::new(array.finish()),
            Self::UInt32(array) => Arc::new(array.finish()),
            Self::UInt64(array) => Arc::new(array.finish()),
            Self::Float32(array) => Arc::new(array.finish()),
            Self::Float64(array) => Arc::new(array.finish()),
            Self::Text(array) => Arc::new(array.finish()),
            Self::Binary(array) => Arc::new(array.finish()),
            Self::Second(array) => Arc::new(array.finish()),
            Self::Millisecond(array) => Arc::new(array.finish()),
            Self::Microsecond(array) => Arc::new(array.finish()),
            Self::Nanosecond(array) => Arc::new(array.finish()),
            Self::Date(array) => Arc::new(array.finish()),
            Self::Decimal(array, _) => Arc::new(array.finish()),
            Self::Time(array) => Arc::new(array.finish()),
            Self::Interval(array) => Arc::new(array.finish()),
        }
    }
}

fn in_utc<T: arrow::datatypes::ArrowTimestampType>(array: PrimitiveBuilder<T>) -> PrimitiveBuilder<T> {
    array.with_timezone("UTC")
}

fn append_int<T>(array: &mut PrimitiveBuilder<T>, value: Value<'_>) -> Result<(), OutOfRange>
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i128>,
{
    match value {
        Value::Null => array.append_null(),
        Value::Int(value) => array.append_value(T::Native::try_from(value).map_err(|_| OutOfRange)?),
        _ => return Err(OutOfRange),
    }
    Ok(())
}
