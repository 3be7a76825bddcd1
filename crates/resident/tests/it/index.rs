//! Indexes over many rows, and over rows that are hard to index.

use arrow::array::{ArrayRef, Float32Array, Float64Array, Int32Array, StringArray};
use atsdb_resident::{HashIndex, HashSeed, IndexMatches, RowKeys};
use std::collections::HashMap;
use std::sync::Arc;

fn build(column: ArrayRef) -> HashIndex {
    HashIndex::build(RowKeys::new(&[column]).unwrap(), HashSeed::new(*b"a seed of tests!"), 2).unwrap()
}

fn find(index: &HashIndex, keys: ArrayRef) -> IndexMatches {
    let mut found = IndexMatches::default();
    index.find(&RowKeys::new(&[keys]).unwrap(), &mut found);
    found
}

#[test]
fn an_index_of_several_partitions_finds_every_row_in_order() {
    // Some keys occur once, some often, and some are NULL.
    let value = |row: i32| match row % 10 {
        0 => None,
        1..=3 => Some(row % 1_000),
        _ => Some(row.wrapping_mul(-1_640_531_535)),
    };
    let rows = 500_000;
    let column = Int32Array::from_iter((0..rows).map(value));
    let mut wanted: HashMap<i32, Vec<u32>> = HashMap::new();
    (0..rows)
        .for_each(|row| value(row).into_iter().for_each(|value| wanted.entry(value).or_default().push(row as u32)));
    let index = build(Arc::new(column));
    let keys: Vec<i32> = wanted.keys().copied().chain(-500..500).collect();
    let found = find(&index, Arc::new(Int32Array::from(keys.clone())));
    let mut at = 0;
    for (probe, key) in keys.iter().enumerate() {
        let rows = wanted.get(key).cloned().unwrap_or_default();
        assert_eq!(found.rows[at..at + rows.len()], rows[..], "key {key}");
        assert!(found.probes[at..at + rows.len()].iter().all(|found| *found as usize == probe));
        at += rows.len();
    }
    assert_eq!(at, found.rows.len());
}

#[test]
fn zeros_are_one_key_whatever_their_sign_and_so_are_nans() {
    let columns: [fn(&[f64]) -> ArrayRef; 2] = [
        |values| Arc::new(Float64Array::from(values.to_vec())),
        |values| Arc::new(values.iter().map(|value| Some(*value as f32)).collect::<Float32Array>()),
    ];
    for column in columns {
        let index = build(column(&[0.0, 1.5, -0.0, f64::NAN, -f64::NAN, -1.5]));
        for (key, rows) in
            [(0.0, vec![0, 2]), (-0.0, vec![0, 2]), (-f64::NAN, vec![3, 4]), (1.5, vec![1]), (2.0, vec![])]
        {
            assert_eq!(find(&index, column(&[key])).rows, rows, "{key}");
        }
    }
}

#[test]
fn one_value_in_all_rows_is_one_chain() {
    // Comparing each row with each other row would take hours.
    let rows = 300_000;
    let index = build(Arc::new(StringArray::from(vec!["the same"; rows])));
    let found = find(&index, Arc::new(StringArray::from(vec!["other", "the same"])));
    assert_eq!(found.rows, (0..rows as u32).collect::<Vec<_>>());
    assert!(found.probes.iter().all(|probe| *probe == 1));
}

#[test]
fn keys_in_steps_do_not_collide() {
    for step in [1, 64, 4_096, 10_000] {
        let column: ArrayRef = Arc::new(Int32Array::from_iter_values((0..200_000).map(|row| row * step)));
        let index = build(Arc::clone(&column));
        assert!(index.byte_count() < 200_000 * 12 && !index.has_duplicates());
        let found = find(&index, column);
        assert!(found.rows.iter().copied().eq(0..200_000) && found.probes == found.rows);
    }
}
