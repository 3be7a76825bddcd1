//! The values of fixed-width columns as plain slices.

use arrow::array::{Array, ArrayRef};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, DataType};

/// The width in bytes of the integers that represent a type's values. `None` for types other than integers, dates and
/// times.
pub(super) fn integer_width(data_type: &DataType) -> Option<usize> {
    match data_type {
        integer if integer.is_integer() => integer.primitive_width(),
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => data_type.primitive_width(),
        _ => None,
    }
}

/// The values of a column, whose type must be as wide as `T`.
pub(super) fn values<T: ArrowNativeType>(array: &ArrayRef) -> ScalarBuffer<T> {
    let data = array.to_data();
    ScalarBuffer::new(data.buffers()[0].clone(), data.offset(), data.len())
}

/// The validity of a column's values; `None` if there is no NULL.
pub(super) fn nulls(array: &ArrayRef) -> Option<&NullBuffer> {
    array.nulls().filter(|nulls| nulls.null_count() > 0)
}
