//! Values in the form that pages have: decimals as 64-bit integers, or as 16 bytes if their type has more than 18
//! digits; times of day as 64-bit integers; intervals as 16 bytes: months, days and nanoseconds, little-endian.
//! Elements of arrays are stored in the form of their type. Values of all other types are unchanged.
//!
//! Not owned: the indices of mapped columns, and which values a column accepts (`engine`).

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, ListArray, PrimitiveArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    DataType, Decimal128Type, Field, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, Time64MicrosecondType,
};
use atsdb_core::{Column, ColumnType, ElementType, Error, Result, decimal};
use std::sync::Arc;

/// Converts an array of a column's [logical type](crate::logical_type) to its [stored type](crate::stored_type()).
/// Arrays of mapped columns are returned as they are.
pub fn to_stored(column: &Column, array: &ArrayRef) -> Result<ArrayRef> {
    match (column.column_type, column.column_type.stored()) {
        (ColumnType::Decimal { .. }, ColumnType::Int64) => {
            let numbers = array.as_primitive_opt::<Decimal128Type>().ok_or_else(|| unexpected(column, array))?;
            let narrow = |value| i64::try_from(value).map_err(|_| too_long(column));
            Ok(Arc::new(numbers.try_unary::<_, Int64Type, Error>(narrow)?))
        }
        (ColumnType::Decimal { .. }, _) => {
            let numbers = array.as_primitive_opt::<Decimal128Type>().ok_or_else(|| unexpected(column, array))?;
            let bytes: Vec<u8> = numbers.values().iter().flat_map(|value| decimal::to_bytes(*value)).collect();
            let offsets = OffsetBuffer::from_repeated_length(16, numbers.len());
            Ok(Arc::new(BinaryArray::try_new(offsets, Buffer::from_vec(bytes), numbers.nulls().cloned())?))
        }
        (ColumnType::Time, _) => {
            let times = array.as_primitive_opt::<Time64MicrosecondType>().ok_or_else(|| unexpected(column, array))?;
            Ok(Arc::new(times.reinterpret_cast::<Int64Type>()))
        }
        (ColumnType::Interval, _) => {
            let lengths = array.as_primitive_opt::<IntervalMonthDayNanoType>();
            let lengths = lengths.ok_or_else(|| unexpected(column, array))?;
            let bytes = |length: &IntervalMonthDayNano| {
                let days = [length.months.to_le_bytes(), length.days.to_le_bytes()];
                days.into_iter().flatten().chain(length.nanoseconds.to_le_bytes())
            };
            let bytes: Vec<u8> = lengths.values().iter().flat_map(bytes).collect();
            let offsets = OffsetBuffer::from_repeated_length(16, lengths.len());
            Ok(Arc::new(BinaryArray::try_new(offsets, Buffer::from_vec(bytes), lengths.nulls().cloned())?))
        }
        (ColumnType::Array(element), _) => {
            let arrays = array.as_list_opt::<i32>().ok_or_else(|| unexpected(column, array))?;
            with_elements(arrays, to_stored(&elements_of(column, element), arrays.values())?)
        }
        _ => Ok(ArrayRef::clone(array)),
    }
}

/// Converts an array of a column's [stored type](crate::stored_type()) to its [logical type](crate::logical_type).
/// Arrays of mapped columns are returned as they are.
///
/// Errors: [`Corrupt`](atsdb_core::ErrorKind::Corrupt) if a decimal or an interval does not have 16 bytes.
pub fn to_logical(column: &Column, array: &ArrayRef) -> Result<ArrayRef> {
    match (column.column_type, array.data_type()) {
        (ColumnType::Decimal { precision, scale }, DataType::Int64) => {
            let numbers = array.as_primitive::<Int64Type>().unary::<_, Decimal128Type>(i128::from);
            Ok(Arc::new(numbers.with_precision_and_scale(precision, scale.cast_signed())?))
        }
        (ColumnType::Decimal { precision, scale }, DataType::Binary) => {
            let bytes = array.as_binary::<i32>();
            let number = |row: usize| match bytes.is_null(row) {
                true => Ok(0),
                false => {
                    decimal::from_bytes(bytes.value(row)).ok_or_else(|| Error::corrupt("a value is not a decimal"))
                }
            };
            let numbers = (0..bytes.len()).map(number).collect::<Result<Vec<i128>>>()?;
            let numbers =
                PrimitiveArray::<Decimal128Type>::try_new(ScalarBuffer::from(numbers), bytes.nulls().cloned())?;
            Ok(Arc::new(numbers.with_precision_and_scale(precision, scale.cast_signed())?))
        }
        (ColumnType::Time, DataType::Int64) => {
            Ok(Arc::new(array.as_primitive::<Int64Type>().reinterpret_cast::<Time64MicrosecondType>()))
        }
        (ColumnType::Interval, DataType::Binary) => {
            let bytes = array.as_binary::<i32>();
            let length = |row: usize| match (bytes.is_null(row), bytes.value(row).split_at_checked(8)) {
                (true, _) => Ok(IntervalMonthDayNano::default()),
                (false, Some((dates, clock))) => {
                    let nanoseconds = clock.try_into().map(i64::from_le_bytes);
                    let part = |at: usize| dates[at..at + 4].try_into().map(i32::from_le_bytes);
                    let interval =
                        |nanoseconds| Some(IntervalMonthDayNano::new(part(0).ok()?, part(4).ok()?, nanoseconds));
                    nanoseconds.ok().and_then(interval).ok_or_else(|| Error::corrupt("a value is not an interval"))
                }
                (false, None) => Err(Error::corrupt("a value is not an interval")),
            };
            let lengths = (0..bytes.len()).map(length).collect::<Result<Vec<_>>>()?;
            let nulls = bytes.nulls().cloned();
            Ok(Arc::new(PrimitiveArray::<IntervalMonthDayNanoType>::try_new(ScalarBuffer::from(lengths), nulls)?))
        }
        (ColumnType::Array(element), DataType::List(_)) => {
            let arrays = array.as_list::<i32>();
            with_elements(arrays, to_logical(&elements_of(column, element), arrays.values())?)
        }
        (ColumnType::Decimal { .. } | ColumnType::Time | ColumnType::Interval | ColumnType::Array(_), _) => {
            Err(unexpected(column, array))
        }
        _ => Ok(ArrayRef::clone(array)),
    }
}

/// The column that would have the elements of an array column as its values.
fn elements_of(column: &Column, element: ElementType) -> Column {
    Column::new(column.id, &column.name, element.column_type())
}

fn with_elements(arrays: &ListArray, elements: ArrayRef) -> Result<ArrayRef> {
    let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(field, arrays.offsets().clone(), elements, arrays.nulls().cloned())?))
}

fn unexpected(column: &Column, array: &ArrayRef) -> Error {
    Error::internal(format!("{} in column {} of type {}", array.data_type(), column.name, column.column_type))
}

fn too_long(column: &Column) -> Error {
    Error::internal(format!("a decimal has too many digits for column {} of type {}", column.name, column.column_type))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{logical_type, stored_type};
    use arrow::array::{Decimal128Array, IntervalMonthDayNanoArray, Time64MicrosecondArray};
    use arrow::buffer::NullBuffer;
    use atsdb_core::ColumnId;

    fn column(column_type: ColumnType) -> Column {
        Column::new(ColumnId(0), "x", column_type)
    }

    /// Three elements as `{a,b}`, NULL, `{}`, `{c}`.
    fn arrays_of((column_type, elements): (ColumnType, ArrayRef)) -> (ColumnType, ArrayRef) {
        let column_type = ColumnType::array(column_type).unwrap();
        let DataType::List(field) = logical_type(&column(column_type)) else { panic!("{column_type}") };
        let nulls = NullBuffer::from(vec![true, false, true, true]);
        let arrays = ListArray::new(field, OffsetBuffer::from_lengths([2, 0, 0, 1]), elements, Some(nulls));
        (column_type, Arc::new(arrays))
    }

    #[test]
    fn values_come_back_from_their_stored_form() {
        let decimals = |precision: u8, scale: u8, values: Vec<Option<i128>>| {
            let array = Decimal128Array::from(values).with_precision_and_scale(precision, scale.cast_signed()).unwrap();
            (ColumnType::Decimal { precision, scale }, Arc::new(array) as ArrayRef)
        };
        let most = |digits: u32| Some(10_i128.pow(digits) - 1);
        let times = Time64MicrosecondArray::from(vec![Some(0), None, Some(86_399_999_999)]);
        let length = IntervalMonthDayNano::new(-14, 3, i64::MIN);
        let lengths = IntervalMonthDayNanoArray::from(vec![None, Some(length), Some(IntervalMonthDayNano::default())]);
        for (column_type, array) in [
            decimals(18, 2, vec![most(18), None, Some(0), most(18).map(|value| -value)]),
            decimals(19, 2, vec![most(19), None, Some(0), most(19).map(|value| -value)]),
            decimals(38, 0, vec![None, most(38), most(38).map(|value| -value)]),
            decimals(38, 0, vec![]),
            arrays_of(decimals(18, 2, vec![most(18), None, Some(0)])),
            arrays_of(decimals(19, 2, vec![most(19), None, Some(0)])),
            arrays_of((ColumnType::Time, Arc::new(times.clone()))),
            (ColumnType::Time, Arc::new(times)),
            (ColumnType::Interval, Arc::new(lengths)),
        ] {
            let column = column(column_type);
            let stored = to_stored(&column, &array).unwrap();
            assert_eq!((stored.data_type(), array.data_type()), (&stored_type(&column), &logical_type(&column)));
            assert_eq!(&to_logical(&column, &stored).unwrap(), &array);
            assert_eq!(
                &to_logical(&column, &stored.slice(0, array.len() / 2)).unwrap(),
                &array.slice(0, array.len() / 2)
            );
            let behind = array.slice(array.len() / 2, array.len() - array.len() / 2);
            assert_eq!(&to_logical(&column, &to_stored(&column, &behind).unwrap()).unwrap(), &behind);
        }
    }

    #[test]
    fn bytes_that_are_no_value_are_corruption() {
        for column_type in [ColumnType::Decimal { precision: 38, scale: 0 }, ColumnType::Interval] {
            for wrong in [b"123".as_slice(), b"12345678", b"12345678901234567"] {
                let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![Some(wrong)]));
                let error = to_logical(&column(column_type), &bytes).unwrap_err();
                assert_eq!(error.kind(), atsdb_core::ErrorKind::Corrupt);
            }
        }
    }
}
