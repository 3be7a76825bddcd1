//! What goes in comes out, bit for bit.

use crate::samples::{Random, SHAPES, UID, array, column, columns, same_bits, sliced};
use arrow::array::{Array, ArrayRef, StringArray, new_empty_array};
use atsdb_codec::{Effort, check_page, decode_page, encode_page, encoding_name, stored_type};
use atsdb_core::{Column, ColumnType};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

fn round_trip(column: &Column, array: &ArrayRef) -> [&'static str; 2] {
    [Effort::Fresh, Effort::Sealed].map(|effort| {
        let page = encode_page(UID, column, array, effort).unwrap();
        check_page(UID, column.id, &page.bytes).unwrap();
        assert_eq!(page.bytes.len(), page.descriptor.byte_count as usize);
        assert_eq!(page.descriptor.statistics.null_count as usize, array.null_count());
        let decoded = decode_page(UID, column, array.len(), &page.bytes).unwrap();
        assert!(same_bits(array, &decoded), "{column:?} {effort:?}");
        encoding_name(page.descriptor.encoding)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_array_comes_back_bit_for_bit(
        position in 0..columns().len(), rows in 0_usize..700, shape in 0..SHAPES, nulls in 0_usize..4, seed: u64,
    ) {
        let column = &columns()[position];
        let array = array(column, rows, shape, nulls, &mut Random(seed));
        round_trip(column, &array);
        let start = rows / 3;
        round_trip(column, &array.slice(start, rows - start));
    }

    #[test]
    fn any_text_comes_back(values: Vec<Option<String>>) {
        let array: ArrayRef = Arc::new(StringArray::from(values));
        round_trip(&column(ColumnType::Text, None), &array);
    }
}

#[test]
fn full_chunks_come_back_and_every_encoding_is_met() {
    let mut met = BTreeSet::new();
    for column in columns() {
        for shape in 0..SHAPES {
            let rows = if shape == 6 { 131_072 } else { 5_000 };
            let array = array(&column, rows, shape, shape + 1, &mut Random(shape as u64));
            met.extend(round_trip(&column, &array));
        }
    }
    let all: BTreeSet<&str> = (0..11).map(encoding_name).collect();
    assert_eq!(met, all);
}

#[test]
fn empty_and_sliced_arrays_come_back() {
    for column in columns() {
        round_trip(&column, &new_empty_array(&stored_type(&column)));
    }
    round_trip(&column(ColumnType::Int64, None), &sliced());
}

#[test]
fn a_single_row_costs_its_value_and_21_bytes() {
    let column = column(ColumnType::Int64, None);
    let array = array(&column, 1, 3, 0, &mut Random(1));
    assert_eq!(encode_page(UID, &column, &array, Effort::Fresh).unwrap().bytes.len(), 29);
}

#[test]
fn constants_and_regular_steps_cost_next_to_nothing() {
    let column = column(ColumnType::Int64, None);
    for shape in [0, 1] {
        let array = array(&column, 100_000, shape, 0, &mut Random(1));
        assert!(encode_page(UID, &column, &array, Effort::Fresh).unwrap().bytes.len() <= 37);
    }
}

#[test]
fn the_same_rows_make_the_same_page() {
    let column = column(ColumnType::Int64, None);
    let pages = [Effort::Fresh, Effort::Sealed].map(|effort| {
        let rebuilt = decode_page(UID, &column, 72, &encode_page(UID, &column, &sliced(), effort).unwrap().bytes);
        (encode_page(UID, &column, &sliced(), effort).unwrap(), encode_page(UID, &column, &rebuilt.unwrap(), effort))
    });
    pages.into_iter().for_each(|(sliced, whole)| assert_eq!(sliced.bytes, whole.unwrap().bytes));
}

#[test]
fn an_array_of_another_type_is_refused() {
    let array = array(&column(ColumnType::Int32, None), 5, 3, 0, &mut Random(1));
    assert!(encode_page(UID, &column(ColumnType::Int64, None), &array, Effort::Fresh).is_err());
}
