//! Decoding returns what was encoded, bit for bit.

use crate::samples::{Random, Rhythm, SHAPES, UID, all_columns, array, column, rhythm, same_bits, sliced};
use arrow::array::new_empty_array;
use arrow::array::{
    Array, ArrayRef, Date32Array, Int32Array, Int64Array, StringArray, TimestampNanosecondArray, UInt64Array,
};
use atsdb_codec::{Effort, check_page, decode_page, encode_page, encoding_name, stored_type};
use atsdb_core::{Column, ColumnType, TimeUnit};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
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
    #![proptest_config(ProptestConfig { cases: 1_500, rng_seed: RngSeed::Fixed(atsdb_testkit::seed()), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_array_comes_back_bit_for_bit(
        position in 0..all_columns().len(), rows in 0_usize..700, shape in 0..SHAPES, nulls in 0_usize..4, seed: u64,
    ) {
        let column = &all_columns()[position];
        let array = array(column, rows, shape, nulls, &mut Random(seed));
        round_trip(column, &array);
        let start = rows / 3;
        round_trip(column, &array.slice(start, rows - start));
    }

    #[test]
    fn any_times_of_instruments_come_back(
        first in prop_oneof![
            Just(1_700_000_000_000), Just(0), i64::MIN..i64::MIN + 1_000, i64::MAX - 100_000..i64::MAX, any::<i64>(),
        ],
        step in prop_oneof![1_i64..100, Just(60_000_000_000), 1_i64..1 << 40, any::<i64>()],
        jitter in prop_oneof![0_usize..4, 0_usize..1 << 40],
        run in 1_usize..900,
        oddity in prop_oneof![2_usize..9, 20_usize..200, Just(usize::MAX)],
        rows in 0_usize..1_500,
        seed: u64,
    ) {
        let times = rhythm(rows, &Rhythm { first, step, jitter, run, oddity }, &mut Random(seed));
        let narrow = || times.iter().map(|time| *time as i32);
        let integers: ArrayRef = Arc::new(Int64Array::from(times.clone()));
        round_trip(&column(ColumnType::Int64, None), &integers);
        let unsigned = UInt64Array::from_iter_values(times.iter().map(|time| *time as u64));
        round_trip(&column(ColumnType::UInt64, None), &(Arc::new(unsigned) as ArrayRef));
        let instants = TimestampNanosecondArray::from(times.clone()).with_timezone("UTC");
        round_trip(&column(ColumnType::Timestamp(TimeUnit::Nanosecond), None), &(Arc::new(instants) as ArrayRef));
        round_trip(&column(ColumnType::Int32, None), &(Arc::new(Int32Array::from_iter_values(narrow())) as ArrayRef));
        round_trip(&column(ColumnType::Date, None), &(Arc::new(Date32Array::from_iter_values(narrow())) as ArrayRef));
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
    for column in all_columns() {
        for shape in 0..SHAPES {
            let rows = if shape == 6 { 131_072 } else { 5_000 };
            let array = array(&column, rows, shape, shape + 1, &mut Random(shape as u64));
            met.extend(round_trip(&column, &array));
        }
    }
    let all: BTreeSet<&str> = (0..12).chain([13]).map(encoding_name).collect();
    assert_eq!(met, all);
}

#[test]
fn empty_and_sliced_arrays_come_back() {
    for column in all_columns() {
        round_trip(&column, &new_empty_array(&stored_type(&column)));
    }
    round_trip(&column(ColumnType::Int64, None), &sliced());
}

#[test]
fn texts_that_are_mostly_empty_come_back() {
    for period in [1, 2, 8] {
        let text = |row: usize| if row.is_multiple_of(period) { ["ab", "\u{fc}", ""][row / period % 3] } else { "" };
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..1_000).map(text)));
        let encodings = round_trip(&column(ColumnType::Text, None), &texts);
        assert_eq!(encodings[0], "dictionary", "a value of {period}");
    }
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

/// Three equally likely seconds take 1.585 bits each. One run per 900 rows adds little.
#[test]
fn sealed_times_sorted_by_sensor_cost_little_more_than_their_jitter() {
    let seconds = rhythm(
        131_072,
        &Rhythm { first: 1_700_000_000, step: 60, jitter: 1, run: 1_800, oddity: usize::MAX },
        &mut Random(1),
    );
    let bytes_max = (131_072.0 * 3_f64.log2() / 8.0 * 1.03) as usize;
    for (unit, scale) in [(TimeUnit::Second, 1), (TimeUnit::Nanosecond, 1_000_000_000)] {
        let column = column(ColumnType::Timestamp(unit), None);
        let times = Int64Array::from_iter_values(seconds.iter().map(|time| time * scale));
        let times = arrow::compute::cast(&times, &stored_type(&column)).unwrap();
        let page = encode_page(UID, &column, &times, Effort::Sealed).unwrap();
        assert_eq!(encoding_name(page.descriptor.encoding), "rhythm");
        assert!(page.bytes.len() <= bytes_max, "{} bytes, {unit:?}", page.bytes.len());
        assert!(same_bits(&times, &decode_page(UID, &column, times.len(), &page.bytes).unwrap()));
    }
}

/// After a gap the rhythm continues. A step of 33.337 ms has no exact number of milliseconds.
#[test]
fn gaps_and_steps_with_a_fraction_keep_the_rhythm() {
    let column = column(ColumnType::Int64, None);
    let mut random = Random(1);
    let gaps = rhythm(50_000, &Rhythm { first: 0, step: 60, jitter: 1, run: 1_800, oddity: usize::MAX }, &mut random);
    let gaps = Int64Array::from_iter_values(gaps.into_iter().filter(|_| random.below(100) > 0));
    let thirds = Int64Array::from_iter_values((0..50_000).map(|row| row * 33_337 / 1_000 + random.below(2) as i64));
    // Three possible seconds, a gap in 100 rows and a new sensor in 900: 1.585 + 0.081 + 0.03 bits. Two possible
    // milliseconds: 1 bit.
    for (times, bits_max) in [(gaps, 1.75), (thirds, 1.05)] {
        let page = encode_page(UID, &column, &times, Effort::Sealed).unwrap();
        let bits = page.bytes.len() as f64 * 8.0 / times.len() as f64;
        assert!(bits <= bits_max, "{bits} bits");
        assert_eq!(encoding_name(page.descriptor.encoding), "rhythm", "{bits} bits");
        assert!(same_bits(&times, &decode_page(UID, &column, times.len(), &page.bytes).unwrap()));
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
