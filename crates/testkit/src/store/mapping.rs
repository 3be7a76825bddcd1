//! Dictionaries of mapped columns.

use super::helpers::*;
use crate::sample::{Plan, Random, series_table};
use atsdb_core::{ColumnId, ErrorKind, Store, TableId};
use std::thread;

const SENSOR: ColumnId = ColumnId(1);

fn dictionary(store: &dyn Store, table: TableId) -> Vec<Vec<u8>> {
    store.snapshot().unwrap().mapping(table, SENSOR, 0).unwrap()
}

pub(super) fn indices_count_up_in_the_order_given(store: &dyn Store) {
    let table = create(store, "t");
    assert_eq!(store.map_values(table, SENSOR, 100, &[b"b", b"a", b"b", b"c"]).unwrap(), [0, 1, 0, 2]);
    assert_eq!(store.map_values(table, SENSOR, 100, &[b"d", b"a", b"d"]).unwrap(), [3, 1, 3]);
    assert!(store.map_values(table, SENSOR, 100, &[]).unwrap().is_empty());
    assert_eq!(dictionary(store, table), [b"b", b"a", b"c", b"d"]);
}

pub(super) fn strings_are_bytes(store: &dyn Store) {
    let table = create(store, "t");
    let long = vec![b'x'; 100_000];
    let values: [&[u8]; 11] = [
        b"",
        b"\0",
        b"\0\0",
        b"cpu",
        b"CPU",
        b"cpu ",
        b"cpu\0",
        b"\xff\xfe",
        "é".as_bytes(),
        "e\u{301}".as_bytes(),
        &long,
    ];
    let indices: Vec<u32> = (0..values.len() as u32).collect();
    assert_eq!(store.map_values(table, SENSOR, 100, &values).unwrap(), indices);
    assert_eq!(store.map_values(table, SENSOR, 100, &values).unwrap(), indices);
    assert_eq!(dictionary(store, table), values);
}

pub(super) fn columns_and_tables_have_their_own_dictionaries(store: &dyn Store) {
    let (first, second) = (create(store, "a"), create(store, "b"));
    assert_eq!(store.map_values(first, SENSOR, 10, &[b"x", b"y"]).unwrap(), [0, 1]);
    assert_eq!(store.map_values(first, ColumnId(7), 10, &[b"y"]).unwrap(), [0]);
    assert_eq!(store.map_values(second, SENSOR, 10, &[b"y"]).unwrap(), [0]);
    assert_eq!(dictionary(store, first), [b"x", b"y"]);
    assert_eq!(dictionary(store, second), [b"y"]);
}

pub(super) fn a_full_dictionary_adds_nothing(store: &dyn Store) {
    let table = create(store, "t");
    let names: Vec<Vec<u8>> = (0..256_u32).map(|number| number.to_string().into_bytes()).collect();
    let values: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    store.map_values(table, SENSOR, 256, &values[..255]).unwrap();
    assert_kind(store.map_values(table, SENSOR, 256, &[b"new", b"0", b"newer"]), ErrorKind::Limit);
    assert_eq!(dictionary(store, table).len(), 255);
    assert_eq!(store.map_values(table, SENSOR, 256, &values[255..]).unwrap(), [255]);
    // Full: known strings are found, new ones are refused, and fit once the column is wider.
    assert_eq!(store.map_values(table, SENSOR, 256, &values).unwrap().len(), 256);
    assert_kind(store.map_values(table, SENSOR, 256, &[b"new"]), ErrorKind::Limit);
    assert_eq!(store.map_values(table, SENSOR, 65_536, &[b"new"]).unwrap(), [256]);
}

pub(super) fn dictionaries_of_staged_tables_are_there_at_commit(store: &dyn Store) {
    let stage = store.open_stage(NOW_MS).unwrap();
    let table = store.create_table(&series_table("t"), Some(stage)).unwrap().id;
    assert_eq!(store.map_values(table, SENSOR, 10, &[b"x"]).unwrap(), [0]);
    store.stage(stage, vec![Plan::new(1).chunk(table)], NOW_MS).unwrap();
    reclaim_all(store, 1 << 20, NOW_MS);
    commit(store, publishing(stage)).unwrap();
    assert_eq!(dictionary(store, table), [b"x"]);
}

pub(super) fn a_dropped_table_takes_no_strings(store: &dyn Store) {
    let table = create(store, "t");
    store.map_values(table, SENSOR, 10, &[b"x"]).unwrap();
    store.drop_table(table).unwrap();
    assert_kind(store.map_values(table, SENSOR, 10, &[b"x"]), ErrorKind::NotFound);
    assert_kind(store.map_values(table, SENSOR, 10, &[b"y"]), ErrorKind::NotFound);
    assert_kind(store.map_values(TableId(table.0 + 50), SENSOR, 10, &[b"y"]), ErrorKind::NotFound);
}

pub(super) fn a_part_of_a_dictionary_is_read_from_any_index(store: &dyn Store) {
    let table = create(store, "t");
    store.map_values(table, SENSOR, 10, &[b"a", b"b", b"c"]).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.mapping(table, SENSOR, 1).unwrap(), [b"b", b"c"]);
    assert!(snapshot.mapping(table, SENSOR, 3).unwrap().is_empty());
    assert!(snapshot.mapping(table, SENSOR, u32::MAX).unwrap().is_empty());
    // A later snapshot holds at least what its chunks can use.
    store.map_values(table, SENSOR, 10, &[b"d"]).unwrap();
    fill(store, table, 0..1);
    assert_eq!(dictionary(store, table), [b"a", b"b", b"c", b"d"]);
    assert!(snapshot.mapping(table, SENSOR, 0).unwrap().len() >= 3);
}

pub(super) fn threads_agree_on_every_index(store: &dyn Store) {
    let table = create(store, "t");
    let work = |seed: u64| {
        let mut random = Random::new(seed);
        let mut seen = Vec::new();
        for _ in 0..20 {
            let names: Vec<Vec<u8>> = (0..10).map(|_| random.below(150).to_string().into_bytes()).collect();
            let values: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
            let indices = store.map_values(table, SENSOR, 1_000, &values).unwrap();
            seen.extend(names.into_iter().zip(indices));
        }
        seen
    };
    let seen: Vec<(Vec<u8>, u32)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || work(seed))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let dictionary = dictionary(store, table);
    assert!(dictionary.len() <= 150);
    assert!(seen.iter().all(|(name, index)| dictionary[*index as usize] == *name));
    let mut names = dictionary.clone();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), dictionary.len(), "a string has two indices");
}
