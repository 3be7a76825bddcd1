//! Files that are deleted, moved or replaced under an open store: nothing that would be lost is acknowledged.

use crate::support::{LAYOUTS, NOW_MS, Scratch, append, create, open, reopen, visible};
use atsdb_core::{Change, Durability, Error, ErrorKind, Store, TableId};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use atsdb_testkit::sample::{Plan, series_table};
use std::fs;

fn try_append(store: &dyn Store, table: TableId, seed: u64) -> Result<(), Error> {
    let change = Change { add: vec![Plan::new(seed).chunk(table)], ..Change::default() };
    store.commit(&[change], NOW_MS)?.remove(0).map(drop)
}

/// Checks that every call of a store fails because of a file.
fn refuses_everything(store: &dyn Store, table: TableId, file: &str, problem: &str) {
    let refused = [
        ("check_location", store.check_location().err()),
        ("commit", try_append(store, table, 9).err()),
        ("create_table", store.create_table(&series_table("u"), None).err()),
        ("open_stage", store.open_stage(NOW_MS).err()),
        ("acquire_lease", store.acquire_lease("l", "me", NOW_MS, 1_000).err()),
        ("snapshot", store.snapshot().err()),
        ("size", store.size().err()),
    ];
    for (call, error) in refused {
        let error = error.unwrap_or_else(|| panic!("{call} succeeds"));
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{call}: {error}");
        assert!(error.message().contains(file) && error.message().contains(problem), "{call}: {error}");
    }
}

#[test]
fn a_store_without_its_file_acknowledges_nothing() {
    for layout in LAYOUTS {
        let scratch = Scratch::new();
        let path = scratch.path("a");
        let store = open(&path, layout, Durability::Full);
        let table = create(&store, "t");
        append(&store, table, &Plan::new(1));
        let file = if layout.is_some() { path.join("atsdb.db") } else { path.clone() };
        let elsewhere = scratch.path("elsewhere");
        fs::rename(&file, &elsewhere).unwrap();
        refuses_everything(&store, table, file.to_str().unwrap(), "was deleted or moved");
        // When it is back, everything is as before.
        fs::rename(&elsewhere, &file).unwrap();
        store.check_location().unwrap();
        append(&store, table, &Plan::new(2));
        assert_eq!(visible(&store, table).len(), 2, "{layout:?}");
        drop(store);
        assert_eq!(visible(&reopen(&path), table).len(), 2, "{layout:?}");
    }
}

#[test]
fn a_replaced_file_is_neither_read_nor_written() {
    let scratch = Scratch::new();
    let store = scratch.open("a.db");
    let table = create(&store, "t");
    append(&store, table, &Plan::new(1));
    for ending in ["", "-wal", "-shm"] {
        fs::remove_file(scratch.path(&format!("a.db{ending}"))).unwrap();
    }
    let newer = scratch.open("a.db");
    let own = create(&newer, "own");
    append(&newer, own, &Plan::new(2));
    refuses_everything(&store, table, "a.db", "was replaced");
    drop(store);
    append(&newer, own, &Plan::new(3));
    drop(newer);
    let newer = reopen(&scratch.path("a.db"));
    assert_eq!(visible(&newer, own).len(), 2);
    assert_eq!(newer.verify().unwrap(), []);
}

#[test]
fn a_store_without_its_log_or_the_index_of_the_log_acknowledges_nothing() {
    for ending in ["-wal", "-shm"] {
        let scratch = Scratch::new();
        let store = scratch.open("a.db");
        let table = create(&store, "t");
        append(&store, table, &Plan::new(1));
        let file = scratch.path(&format!("a.db{ending}"));
        fs::remove_file(&file).unwrap();
        refuses_everything(&store, table, file.to_str().unwrap(), "was deleted or moved");
        // Closing the store saves what was acknowledged.
        drop(store);
        let store = reopen(&scratch.path("a.db"));
        assert_eq!(visible(&store, table).len(), 1, "{ending}");
        assert_eq!(store.verify().unwrap(), []);
    }
}

#[test]
fn a_reader_notices_a_replaced_file() {
    let scratch = Scratch::new();
    let table = create(&scratch.open("a.db"), "t");
    create(&scratch.open("b.db"), "other");
    let options = SqliteOptions { read_only: true, ..SqliteOptions::default() };
    let reader = SqliteStore::open(&scratch.path("a.db"), &options).unwrap();
    assert_eq!(visible(&reader, table).len(), 0);
    fs::rename(scratch.path("b.db"), scratch.path("a.db")).unwrap();
    let error = reader.snapshot().err().expect("the file is another one");
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.message().contains("was replaced"), "{error}");
}
