//! The keys by which rows are ordered, in a form whose natural order is the wanted one.

use crate::text::datafusion_errors::external;
use atsdb_codec::order_codes;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;

/// The key of a row that is ordered by one number. The flag separates NULLs from values.
pub(super) type NumberKey = (bool, u64);

/// Returns whether values of a type have [`NumberKey`]s.
pub(super) fn is_number(data_type: &DataType) -> bool {
    data_type.is_integer() || is_float(data_type) || is_time(data_type)
}

fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

fn is_time(data_type: &DataType) -> bool {
    use DataType::{Date32, Date64, Duration, Time32, Time64, Timestamp};
    matches!(data_type, Date32 | Date64 | Timestamp(..) | Time32(_) | Time64(_) | Duration(_))
}

/// The keys of an array for which [`is_number`] holds.
pub(super) fn number_keys(array: &ArrayRef, options: SortOptions) -> Result<Vec<NumberKey>> {
    let turn = if options.descending { u64::MAX } else { 0 };
    let codes = order_codes(array).map_err(external)?;
    let value = |code: u64| (options.nulls_first, code ^ turn);
    Ok(match array.nulls() {
        None => codes.into_iter().map(value).collect(),
        Some(nulls) => {
            let key = |(code, is_valid)| if is_valid { value(code) } else { (!options.nulls_first, 0) };
            codes.into_iter().zip(nulls).map(key).collect()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Float64Array, Int32Array, TimestampSecondArray, UInt64Array};
    use datafusion::arrow::compute::sort_to_indices;
    use std::sync::Arc;

    #[test]
    fn keys_have_the_order_of_sorting() {
        let floats =
            [Some(f64::NEG_INFINITY), Some(0.0), Some(-1.5), None, Some(-0.0), Some(f64::NAN), Some(f64::INFINITY)];
        let arrays: [ArrayRef; 4] = [
            Arc::new(Float64Array::from(floats.to_vec())),
            Arc::new(Int32Array::from(vec![Some(3), None, Some(i32::MIN), Some(i32::MAX), Some(-1)])),
            Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(0), None, Some(7)])),
            Arc::new(TimestampSecondArray::from(vec![Some(-5), Some(5), None, Some(0)])),
        ];
        for array in &arrays {
            for (descending, nulls_first) in [(false, false), (false, true), (true, false), (true, true)] {
                let options = SortOptions { descending, nulls_first };
                let keys = number_keys(array, options).unwrap();
                let mut rows: Vec<u32> = (0..array.len() as u32).collect();
                rows.sort_by_key(|row| keys[*row as usize]);
                assert_eq!(
                    rows,
                    sort_to_indices(array, Some(options), None).unwrap().values().to_vec(),
                    "{options:?} {array:?}"
                );
            }
        }
    }
}
