//! The statistics of a page describe its values.

use crate::samples::{Random, SHAPES, UID, array, column, columns};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, StringArray, UInt8Array};
use arrow::datatypes::{DataType, Int64Type};
use atsdb_codec::{Effort, encode_page, stored_type};
use atsdb_core::{Bound, Column, ColumnStatistics, ColumnType, MapWidth};
use std::sync::Arc;

fn statistics(column: &Column, array: impl Array + 'static) -> ColumnStatistics {
    let array: ArrayRef = Arc::new(array);
    encode_page(UID, column, &array, Effort::Fresh).unwrap().descriptor.statistics
}

#[test]
fn bounds_have_the_kind_of_their_column() {
    let ints =
        statistics(&column(ColumnType::Int64, None), Int64Array::from(vec![Some(i64::MAX), None, Some(i64::MIN)]));
    let expected = (1, Some(Bound::Int(i64::MIN)), Some(Bound::Int(i64::MAX)));
    assert_eq!((ints.null_count, ints.min, ints.max), expected);
    let mapped = statistics(&column(ColumnType::Text, Some(MapWidth::U8)), UInt8Array::from(vec![200, 3]));
    assert_eq!((mapped.min, mapped.max), (Some(Bound::UInt(3)), Some(Bound::UInt(200))));
    let flags = statistics(&column(ColumnType::Bool, None), BooleanArray::from(vec![true, true]));
    assert_eq!((flags.min, flags.max), (Some(Bound::Int(1)), Some(Bound::Int(1))));
    let text = statistics(&column(ColumnType::Text, None), StringArray::from(vec!["b", "", "\u{fc}"]));
    assert_eq!((text.min, text.max), (Some(Bound::Bytes(vec![])), Some(Bound::Bytes("\u{fc}".into()))));
}

#[test]
fn a_nan_takes_the_bounds_away_and_negative_zero_is_below_zero() {
    let floats = column(ColumnType::Float64, None);
    for nan in [f64::NAN, -f64::NAN] {
        let with_nan = statistics(&floats, Float64Array::from(vec![1.0, nan, 2.0]));
        assert_eq!((with_nan.min, with_nan.max), (None, None));
    }
    let zeros = statistics(&floats, Float64Array::from(vec![0.0, -0.0, -f64::INFINITY, 1.5]));
    assert_eq!((zeros.min, zeros.max), (Some(Bound::Float(f64::NEG_INFINITY)), Some(Bound::Float(1.5))));
    let Some(Bound::Float(min)) = statistics(&floats, Float64Array::from(vec![0.0, -0.0])).min else { panic!() };
    assert!(min.is_sign_negative());
}

#[test]
fn rows_that_are_all_null_have_no_bounds() {
    for column in columns() {
        let array = array(&column, 10, 8, 0, &mut Random(1));
        let page = encode_page(UID, &column, &array, Effort::Sealed).unwrap();
        assert_eq!(page.descriptor.statistics, ColumnStatistics { null_count: 10, ..ColumnStatistics::default() });
    }
}

#[test]
fn integer_bounds_are_exact() {
    let column = column(ColumnType::Int64, None);
    for shape in (0..SHAPES).filter(|shape| *shape != 8) {
        let array = array(&column, 999, shape, 1, &mut Random(shape as u64));
        assert_eq!(stored_type(&column), DataType::Int64);
        let values = || array.as_primitive::<Int64Type>().iter().flatten();
        let found = encode_page(UID, &column, &array, Effort::Fresh).unwrap().descriptor.statistics;
        assert_eq!((found.min, found.max), (values().min().map(Bound::Int), values().max().map(Bound::Int)));
    }
}
