//! Numbers with the order of the values of an array, by which rows are sorted.

use crate::number::Number;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use atsdb_core::Result;

/// Returns numbers with the order of the values of booleans, integers, floating point numbers or times. NaN and -0.0
/// have a position, too (IEEE 754 totalOrder). The number of a NULL has no meaning.
pub fn order_codes(array: &ArrayRef) -> Result<Vec<u64>> {
    let wide = match array.data_type() {
        data_type if data_type.is_floating() => DataType::Float64,
        data_type if data_type.is_unsigned_integer() => DataType::UInt64,
        // Arrow casts 32-bit dates and times to 64-bit integers only by way of 32 bits.
        DataType::Date32 | DataType::Time32(_) => return order_codes(&cast(array, &DataType::Int32)?),
        _ => DataType::Int64,
    };
    let array = cast(array, &wide)?;
    Ok(match wide {
        DataType::Float64 => codes(array.as_primitive::<Float64Type>().values()),
        DataType::UInt64 => codes(array.as_primitive::<UInt64Type>().values()),
        _ => codes(array.as_primitive::<Int64Type>().values()),
    })
}

fn codes<T: Number>(values: &[T]) -> Vec<u64> {
    values.iter().map(|value| value.order_key()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{
        BooleanArray, Date32Array, Float32Array, Float64Array, Int8Array, Int64Array, Time32SecondArray,
        TimestampSecondArray, UInt64Array,
    };
    use std::sync::Arc;

    #[test]
    fn codes_rise_with_the_values() {
        let ascending: [ArrayRef; 9] = [
            Arc::new(BooleanArray::from(vec![false, true])),
            Arc::new(Int8Array::from(vec![i8::MIN, -1, 0, i8::MAX])),
            Arc::new(Int64Array::from(vec![i64::MIN, -1, 0, i64::MAX])),
            Arc::new(UInt64Array::from(vec![0, 1 << 63, u64::MAX])),
            Arc::new(Float32Array::from(vec![f32::NEG_INFINITY, -0.0, 0.0, f32::MIN_POSITIVE, f32::INFINITY])),
            Arc::new(Float64Array::from(vec![-f64::NAN, f64::NEG_INFINITY, -0.0, 0.0, f64::INFINITY, f64::NAN])),
            Arc::new(Date32Array::from(vec![i32::MIN, -1, 0, i32::MAX])),
            Arc::new(Time32SecondArray::from(vec![0, 86_399])),
            Arc::new(TimestampSecondArray::from(vec![-5, 0, i64::MAX]).with_timezone("UTC")),
        ];
        for array in ascending {
            let codes = order_codes(&array).unwrap();
            assert!(
                codes.len() == array.len() && codes.windows(2).all(|pair| pair[0] < pair[1]),
                "{array:?}: {codes:?}"
            );
        }
    }
}
