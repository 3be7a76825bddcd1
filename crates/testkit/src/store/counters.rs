//! Counters of identity columns.

use super::helpers::*;
use crate::sample::series_table;
use atsdb_core::{
    ColumnId, ColumnType, Counter, ErrorKind, Identity, NumberBlock, NumberRequest, Store, TableDefinition, TableId,
};
use std::thread;

const COLUMN: ColumnId = ColumnId(0);

fn request(table: TableId, count: u64) -> NumberRequest {
    let identity = Identity::by_default();
    NumberRequest { table, column: COLUMN, identity, column_type: ColumnType::Int64, count }
}

fn reserve(store: &dyn Store, request: NumberRequest) -> (i64, u64) {
    let NumberBlock { first, count, .. } = store.reserve_numbers(&request).unwrap();
    (first, count)
}

fn counter(store: &dyn Store, table: TableId) -> Option<Counter> {
    store.snapshot().unwrap().counter(table, COLUMN).unwrap()
}

pub(super) fn blocks_follow_each_other(store: &dyn Store) {
    let table = create(store, "t");
    assert_eq!(counter(store, table), None);
    assert_eq!(reserve(store, request(table, 1)), (1, 1));
    assert_eq!(reserve(store, request(table, 32)), (2, 32));
    assert_eq!(reserve(store, request(table, 1)), (34, 1));
    assert_eq!(counter(store, table), Some(Counter { restarts: 0, last: 34 }));
}

pub(super) fn columns_and_tables_have_their_own_counters(store: &dyn Store) {
    let (first, second) = (create(store, "a"), create(store, "b"));
    assert_eq!(reserve(store, request(first, 5)), (1, 5));
    assert_eq!(reserve(store, NumberRequest { column: ColumnId(1), ..request(first, 1) }), (1, 1));
    assert_eq!(reserve(store, request(second, 1)), (1, 1));
    assert_eq!(reserve(store, request(first, 1)), (6, 1));
}

pub(super) fn a_restart_begins_anew_once(store: &dyn Store) {
    let table = create(store, "t");
    assert_eq!(reserve(store, request(table, 10)), (1, 10));
    for restarts in [3, 7] {
        let identity = Identity { after: Some(99), restarts, ..Identity::by_default() };
        let restarted = NumberRequest { identity, ..request(table, 2) };
        assert_eq!(reserve(store, restarted), (100, 2));
        assert_eq!(reserve(store, restarted), (102, 2));
        // A request that does not know of the restart gets numbers that follow.
        assert_eq!(reserve(store, request(table, 1)), (104, 1));
        assert_eq!(counter(store, table), Some(Counter { restarts, last: 104 }));
    }
}

pub(super) fn the_extremes_of_64_bits_are_numbers(store: &dyn Store) {
    let table = create(store, "t");
    let from = |start: i64, increment: i64, restarts: u32| NumberRequest {
        identity: Identity { start, increment, restarts, ..Identity::by_default() },
        ..request(table, 9)
    };
    assert_eq!(reserve(store, from(i64::MAX - 1, 1, 0)), (i64::MAX - 1, 2));
    assert_kind(store.reserve_numbers(&from(i64::MAX - 1, 1, 0)), ErrorKind::Limit);
    assert_eq!(reserve(store, from(i64::MIN, 1, 1)), (i64::MIN, 9));
    assert_eq!(reserve(store, from(i64::MIN + 1, -1, u32::MAX)), (i64::MIN + 1, 2));
}

pub(super) fn a_dropped_table_gives_no_numbers(store: &dyn Store) {
    let (table, other) = (create(store, "t"), create(store, "other"));
    reserve(store, request(table, 5));
    reserve(store, request(other, 5));
    store.drop_table(table).unwrap();
    assert_kind(store.reserve_numbers(&request(table, 1)), ErrorKind::NotFound);
    assert_eq!(counter(store, table), None);
    assert_eq!(reserve(store, request(other, 1)), (6, 1));
    assert_eq!(store.verify().unwrap(), []);
}

pub(super) fn a_dropped_table_takes_no_counter_of_another(store: &dyn Store) {
    // The first one's number begins the numbers of some others.
    let tables: Vec<TableId> = (0..12).map(|number| create(store, &format!("t{number}"))).collect();
    for table in &tables {
        assert_eq!(reserve(store, request(*table, 5)), (1, 5));
    }
    for dropped in 1..4 {
        store.drop_table(tables[dropped - 1]).unwrap();
        for table in &tables[dropped..] {
            assert_eq!(counter(store, *table), Some(Counter { restarts: 0, last: 5 }));
        }
    }
    assert_eq!(store.verify().unwrap(), []);
}

pub(super) fn a_staged_table_counts_on_after_its_commit(store: &dyn Store) {
    let stage = store.open_stage(NOW_MS).unwrap();
    let table = store.create_table(&series_table("t"), Some(stage)).unwrap().id;
    assert_eq!(reserve(store, request(table, 3)), (1, 3));
    commit(store, publishing(stage)).unwrap();
    assert_eq!(reserve(store, request(table, 1)), (4, 1));
    let stage = store.open_stage(NOW_MS).unwrap();
    let abandoned = store.create_table(&series_table("u"), Some(stage)).unwrap().id;
    reserve(store, request(abandoned, 3));
    store.abandon_stage(stage).unwrap();
    assert_eq!(counter(store, abandoned), None);
}

pub(super) fn definitions_of_identities_come_back(store: &dyn Store) {
    let mut definition: TableDefinition = series_table("t").with_column("id", ColumnType::Int32, None);
    let identity = Identity { always: true, start: -7, increment: -2, after: Some(-9), restarts: 4 };
    let Some(column) = definition.columns.last_mut() else { unreachable!() };
    (column.nullable, column.identity) = (false, Some(identity));
    let table = store.create_table(&definition, None).unwrap();
    assert_eq!(store.snapshot().unwrap().tables().unwrap(), [table]);
}

pub(super) fn threads_never_share_a_number(store: &dyn Store) {
    let table = create(store, "t");
    let work = |seed: u64| {
        let blocks = (0..25).map(|step| reserve(store, request(table, 1 + (seed + step) % 4)));
        blocks.flat_map(|(first, count)| (0..count).map(move |at| first + at.cast_signed())).collect::<Vec<_>>()
    };
    let mut numbers: Vec<i64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || work(seed))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    numbers.sort_unstable();
    let count = numbers.len() as i64;
    assert_eq!(numbers, (1..=count).collect::<Vec<_>>());
    assert_eq!(counter(store, table), Some(Counter { restarts: 0, last: count }));
}
