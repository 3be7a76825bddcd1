//! Several processes on one file.

use crate::support::{
    LAYOUTS, Scratch, append, as_other_process, create, open, other_process, reclaim_all, reopen, visible,
};
use atsdb_core::{BatchId, Change, ChunkGuard, ChunkId, ColumnId, Durability, ErrorKind, Store, TableId};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use atsdb_testkit::sample::{Plan, Random, series_table};

const STEPS: u64 = 30;

#[test]
fn a_string_that_another_writer_has_added_keeps_its_index() {
    let scratch = Scratch::new();
    let (one, other) = (scratch.open("a.db"), scratch.open("a.db"));
    let table = create(&one, "t");
    let map = |store: &SqliteStore, values: &[&[u8]]| store.map_values(table, ColumnId(1), 100, values).unwrap();
    assert_eq!(map(&one, &[b"a"]), [0]);
    assert_eq!(map(&other, &[b"b"]), [1]);
    // Both have added strings before.
    assert_eq!(map(&one, &[b"b", b"c", b"a", b"c"]), [1, 2, 0, 2]);
    assert_eq!(map(&other, &[b"c", b"d"]), [2, 3]);
    assert_eq!(map(&one, &[b"d"]), [3]);
    assert_eq!(one.verify().unwrap(), []);
}

#[test]
fn four_processes_write_and_nothing_is_lost() {
    (0..4).for_each(write_by_four);
}

fn write_by_four(layout: usize) {
    let scratch = Scratch::new();
    let store = open(&scratch.path("a.db"), LAYOUTS[layout], Durability::Full);
    let table = create(&store, "t");
    let path = scratch.path("a.db");
    let mut writers: Vec<_> =
        (0..4).map(|number| other_process("processes::one_writer_of_many", &path, number).spawn().unwrap()).collect();
    // Meanwhile this process reads and reclaims.
    let mut seen = 0;
    while writers.iter_mut().any(|writer| writer.try_wait().unwrap().is_none()) {
        let now = visible(&store, table).len();
        assert!(now >= seen, "a chunk vanished");
        seen = now;
        store.reclaim(1 << 20, 0).unwrap();
    }
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    assert_eq!(visible(&store, table).len() as u64, 4 * STEPS + STEPS);
    let dictionary = store.snapshot().unwrap().mapping(table, ColumnId(1), 0).unwrap();
    assert_eq!(dictionary.len() as u64, STEPS * 4 + STEPS);
    reclaim_all(&store);
    assert_eq!(store.verify().unwrap(), []);
}

#[test]
fn one_writer_of_many() {
    let Some((path, number)) = as_other_process() else { return };
    let store = reopen(&path);
    let table = store.snapshot().unwrap().tables().unwrap()[0].id;
    for step in 0..STEPS {
        append(&store, table, &Plan::new(number * 1_000 + step).with_pages(3, 5_000));
        let (shared, own) = (format!("shared {step}"), format!("{number} {step}"));
        store.map_values(table, ColumnId(1), 1 << 32, &[shared.as_bytes(), own.as_bytes()]).unwrap();
        // All four send the same batch, and one of them commits it.
        let stage = store.open_stage(0).unwrap();
        store.stage(stage, vec![Plan::new(10_000 + step).chunk(table)], 0).unwrap();
        let batch = Some(BatchId::new(format!("batch {step}")).unwrap());
        store.commit(&[Change { batch, stage: Some(stage), ..Change::default() }], 0).unwrap().remove(0).unwrap();
    }
}

#[test]
fn of_two_processes_that_append_under_guards_one_wins_each_round() {
    let scratch = Scratch::new();
    let store = scratch.open("a.db");
    let table = create(&store, "t");
    let path = scratch.path("a.db");
    let guarded = "processes::one_guarded_writer_of_two";
    let writers: Vec<_> = (0..2).map(|number| other_process(guarded, &path, number).spawn().unwrap()).collect();
    let mut won = [0; 2];
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let entries = visible(&store, table);
    assert_eq!(entries.len() as u64, STEPS);
    for (round, entry) in entries.iter().enumerate() {
        let of = |number: &u64| Plan::new(number * 1_000 + round as u64).chunk(table).descriptor_bytes;
        let winner = (0..2).find(|number| of(number) == entry.descriptor_bytes).expect("of that round");
        won[winner as usize] += 1;
    }
    for (number, won) in won.into_iter().enumerate() {
        let noted = std::fs::read_to_string(scratch.path(&format!("a.db.{number}"))).unwrap();
        assert_eq!(noted, won.to_string());
    }
    assert_eq!(store.verify().unwrap(), []);
}

#[test]
fn one_guarded_writer_of_two() {
    let Some((path, number)) = as_other_process() else { return };
    let store = reopen(&path);
    let table = store.snapshot().unwrap().tables().unwrap()[0].id;
    let mut won = 0;
    for round in 0..STEPS {
        // Chunks that the other process has added meanwhile are left out: both act on the state before the round.
        let entries = visible(&store, table);
        let newest = entries[..round as usize].last().map_or(ChunkId(0), |entry| entry.id);
        let add = vec![Plan::new(number * 1_000 + round).chunk(table)];
        let change = Change { add, guards: vec![ChunkGuard { table, newest }], ..Change::default() };
        match store.commit(&[change], 0).unwrap().remove(0) {
            Ok(_) => won += 1,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
        }
    }
    std::fs::write(format!("{}.{number}", path.display()), won.to_string()).unwrap();
}

#[test]
fn processes_that_create_one_store_together_all_succeed() {
    let scratch = Scratch::new();
    for round in 0..12 {
        let path = scratch.path(&format!("{round}.db"));
        let layout = round % 3;
        let creators: Vec<_> = (0..4)
            .map(|number| other_process("processes::one_creator_of_many", &path, number * 3 + layout).spawn().unwrap())
            .collect();
        for mut creator in creators {
            assert!(creator.wait().unwrap().success());
        }
        let store = reopen(&path);
        assert_eq!(store.snapshot().unwrap().tables().unwrap().len(), 4);
        assert_eq!(store.verify().unwrap(), []);
    }
}

#[test]
fn one_creator_of_many() {
    let Some((path, number)) = as_other_process() else { return };
    let store = open(&path, LAYOUTS[number as usize % 3], Durability::Full);
    store.create_table(&series_table(&format!("t{number}")), None).unwrap();
}

#[test]
fn two_stores_of_one_process_share_a_file() {
    let scratch = Scratch::new();
    let first = scratch.open("a.db");
    let second = scratch.open("a.db");
    assert_eq!(first.uid(), second.uid());
    let table = create(&first, "t");
    append(&second, table, &Plan::new(1));
    drop(second);
    append(&first, table, &Plan::new(2));
    assert_eq!(visible(&first, table).len(), 2);
    let held = first.snapshot().unwrap();
    drop(first);
    // A snapshot outlives its store.
    assert_eq!(held.chunks(table, atsdb_core::TimeRange::ALL).unwrap().len(), 2);
}

#[test]
fn numbers_grow_across_stores_and_failed_commits() {
    let scratch = Scratch::new();
    let stores = [scratch.open_as("a.db", Durability::Off), scratch.open_as("a.db", Durability::Off)];
    let table = create(&stores[0], "t");
    let mut random = Random::new(1);
    let mut last = ChunkId(0);
    for step in 0..400 {
        let store = &stores[random.below(8) as usize / 5];
        let chunk = || Plan::new(step).chunk(table);
        let good = Change { add: vec![chunk(); 1 + random.below(5) as usize], ..Change::default() };
        // This change fails after its numbers were assigned.
        let bad = Change { add: vec![chunk(), Plan::new(step).chunk(TableId(99))], ..Change::default() };
        let staged = || {
            let stage = store.open_stage(0).unwrap();
            store.stage(stage, vec![chunk()], 0).unwrap();
            Change { stage: Some(stage), ..Change::default() }
        };
        let changes = match random.below(8) {
            0 => vec![bad],
            1 => vec![good.clone(), bad, good],
            2 => vec![staged(), good],
            3 => vec![Change { add: vec![chunk(); 40], ..Change::default() }],
            _ => vec![good],
        };
        store.commit(&changes, 0).unwrap();
        let entries = visible(store, table);
        for entry in &entries {
            assert!(entry.id > last, "step {step}: {} was given after {}", entry.id.0, last.0);
        }
        last = entries.iter().map(|entry| entry.id).max().unwrap_or(last);
        let removed = entries.iter().map(|entry| (table, entry.id)).collect();
        // After the removal, only the stored counter knows which numbers were assigned.
        store.commit(&[Change { remove: removed, ..Change::default() }], 0).unwrap().remove(0).unwrap();
    }
    assert_eq!(stores[0].verify().unwrap(), []);
}

#[test]
fn numbers_of_a_change_that_failed_are_not_kept() {
    let scratch = Scratch::new();
    let (first, second) = (scratch.open_as("a.db", Durability::Off), scratch.open_as("a.db", Durability::Off));
    let table = create(&first, "t");
    let newest = || visible(&first, table).iter().map(|entry| entry.id).max().unwrap();
    let good = |count| Change { add: vec![Plan::new(1).chunk(table); count], ..Change::default() };
    let bad = Change { add: vec![Plan::new(1).chunk(table), Plan::new(2).chunk(TableId(99))], ..Change::default() };
    // For any number of reserved numbers, there is a count at which the failing change reserves them.
    for count in 1..80 {
        first.commit(&[good(count)], 0).unwrap().remove(0).unwrap();
        first.commit(&[good(1), bad.clone()], 0).unwrap().remove(0).unwrap();
        for store in [&second, &first, &second] {
            let last = newest();
            append(store, table, &Plan::new(3));
            assert!(newest() > last, "{count}");
        }
    }
}

#[test]
fn a_writer_that_waits_too_long_gets_a_busy_error() {
    let scratch = Scratch::new();
    let store = scratch.open("a.db");
    create(&store, "t");
    let options = SqliteOptions { busy_timeout: std::time::Duration::from_millis(50), ..SqliteOptions::default() };
    let hurried = SqliteStore::open(&scratch.path("a.db"), &options).unwrap();
    let holder = rusqlite::Connection::open(scratch.path("a.db")).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = hurried.create_table(&series_table("u"), None).unwrap_err();
    assert_eq!(error.kind(), atsdb_core::ErrorKind::Busy);
    // A reader never waits.
    assert_eq!(hurried.snapshot().unwrap().tables().unwrap().len(), 1);
    holder.execute_batch("ROLLBACK").unwrap();
    hurried.create_table(&series_table("u"), None).unwrap();
}
