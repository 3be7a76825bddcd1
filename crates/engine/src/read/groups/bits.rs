//! The values of fixed-width columns as plain slices.

use arrow::array::{Array, ArrayRef};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, DataType};

/// How wide the integers are that stand for a type's values, in bytes. `None` for other types than integers, dates and
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

/// Which values of a column are not NULL; `None` if all are there.
pub(super) fn nulls(array: &ArrayRef) -> Option<&NullBuffer> {
    array.nulls().filter(|nulls| nulls.null_count() > 0)
}
