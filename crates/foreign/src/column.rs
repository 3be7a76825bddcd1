//! The values of a column, while they arrive.

use crate::value::Value;
use arrow::array::PrimitiveBuilder;
use arrow::datatypes::ArrowPrimitiveType;
use atsdb_codec::ColumnValues;
use atsdb_core::time::DAY_MICROSECONDS;
use atsdb_core::value::nearest_real;
use atsdb_core::{ColumnType, decimal};

/// The value is none of those that the column's type has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutOfRange;

/// Appends a value to those of a column of this type.
pub(crate) fn append(values: &mut ColumnValues, column_type: ColumnType, value: Value<'_>) -> Result<(), OutOfRange> {
    match (values, value) {
        (values, Value::Null) => values.append_null(),
        (ColumnValues::Bool(array), Value::Bool(value)) => array.append_value(value),
        (ColumnValues::Int8(array), Value::Int(value)) => return append_int(array, value),
        (ColumnValues::Int16(array), Value::Int(value)) => return append_int(array, value),
        (ColumnValues::Int32(array), Value::Int(value)) => return append_int(array, value),
        (ColumnValues::Int64(array), Value::Int(value)) => return append_int(array, value),
        (ColumnValues::UInt8(array), Value::Int(value)) => return append_int(array, value),
        (ColumnValues::UInt16(array), Value::Int(value)) => return append_int(array, value),
        (ColumnValues::UInt32(array), Value::Int(value)) => return append_int(array, value),
        (ColumnValues::UInt64(array), Value::Int(value)) => return append_int(array, value),
        (ColumnValues::Timestamp(array, _), Value::Int(value)) => return append_int(array, value),
        (ColumnValues::Date(array), Value::Int(value)) => return append_int(array, value),
        (ColumnValues::Decimal(array), Value::Int(digits)) if is_decimal(digits, column_type) => {
            array.append_value(digits);
        }
        (ColumnValues::Time(array), Value::Int(time)) if (0..i128::from(DAY_MICROSECONDS)).contains(&time) => {
            return append_int(array, time);
        }
        (ColumnValues::Float32(array), Value::Float(value)) => array.append_value(nearest_real(value)),
        (ColumnValues::Float64(array), Value::Float(value)) => array.append_value(value),
        (ColumnValues::Text(array), Value::Text(value)) => array.append_value(value),
        (ColumnValues::Binary(array), Value::Bytes(value)) => array.append_value(value),
        (ColumnValues::Interval(array), Value::Interval(value)) => array.append_value(value),
        _ => return Err(OutOfRange),
    }
    Ok(())
}

fn append_int<T>(array: &mut PrimitiveBuilder<T>, value: i128) -> Result<(), OutOfRange>
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i128>,
{
    array.append_value(T::Native::try_from(value).map_err(|_| OutOfRange)?);
    Ok(())
}

fn is_decimal(digits: i128, column_type: ColumnType) -> bool {
    matches!(column_type, ColumnType::Decimal { precision, .. } if decimal::fits(digits, precision))
}
