//! Files at the path of a store, and how they change.

use crate::support::{Scratch, append, create, file_bytes, reclaim_all, reopen, visible};
use atsdb_core::{Change, ChunkId, ColumnId, ErrorKind, StageId, Store, TableId, TimeRange};
use atsdb_sqlite::{APPLICATION_ID, FORMAT, SqliteOptions, SqliteStore};
use atsdb_testkit::sample::{Plan, series_table};
use std::fs;
use std::path::Path;

fn refusal(path: &Path, options: &SqliteOptions) -> (ErrorKind, String) {
    let error = SqliteStore::open(path, options).expect_err("this is no store");
    (error.kind(), error.to_string())
}

#[test]
fn files_that_are_not_stores_are_refused_and_left_alone() {
    let scratch = Scratch::new();
    let foreign = scratch.path("foreign.db");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    let garbage: [(&str, &[u8]); 4] = [
        ("one.txt", b"x"),
        ("text.csv", &[b't'; 5_000]),
        ("zeros", &[0; 8_192]),
        (
            "header.db",
            b"SQLite format 3\0 and then nothing that fits a database, whatever it says at first.............",
        ),
    ];
    for (name, bytes) in garbage {
        std::fs::write(scratch.path(name), bytes).unwrap();
        let (kind, message) = refusal(&scratch.path(name), &SqliteOptions::default());
        assert_eq!(kind, ErrorKind::NotAStore, "{name}: {message}");
        assert!(message.contains(name), "{message}");
        assert!(std::fs::read(scratch.path(name)).unwrap() == bytes, "{name} was changed");
    }
    let before = std::fs::read(&foreign).unwrap();
    let (kind, message) = refusal(&foreign, &SqliteOptions::default());
    assert_eq!(kind, ErrorKind::NotAStore);
    assert!(message.contains("foreign.db") && message.contains("not an atsdb store"), "{message}");
    assert!(std::fs::read(&foreign).unwrap() == before);
    std::fs::create_dir(scratch.path("folder")).unwrap();
    assert_eq!(refusal(&scratch.path("folder"), &SqliteOptions::default()).0, ErrorKind::NotAStore);
    assert_eq!(refusal(Path::new("/dev/null"), &SqliteOptions::default()).0, ErrorKind::NotAStore);
}

#[test]
fn a_store_is_made_only_where_that_is_asked_for() {
    let scratch = Scratch::new();
    let careful = SqliteOptions { create: false, ..SqliteOptions::default() };
    let reader = SqliteOptions { read_only: true, ..SqliteOptions::default() };
    for options in [&careful, &reader] {
        assert_eq!(refusal(&scratch.path("none.db"), options).0, ErrorKind::NotFound);
        assert!(!scratch.path("none.db").exists());
    }
    let (kind, message) = refusal(&scratch.path("no/such/a.db"), &SqliteOptions::default());
    assert_eq!(kind, ErrorKind::NotFound);
    assert!(message.contains("no/such"), "{message}");
    std::fs::write(scratch.path("empty.db"), b"").unwrap();
    assert_eq!(refusal(&scratch.path("empty.db"), &careful).0, ErrorKind::NotAStore);
    let hint = |path| SqliteStore::open(&scratch.path(path), &careful).unwrap_err().hint().unwrap().to_owned();
    assert!(hint("empty.db").contains("delete this one"));
    assert!(hint("empty.db/a.db").contains("enter each folder"));
    create(&scratch.open("empty.db"), "t");
    assert_eq!(reopen(&scratch.path("empty.db")).snapshot().unwrap().tables().unwrap().len(), 1);
}

#[test]
fn names_that_mean_something_to_sqlite_are_files_here() {
    let scratch = Scratch::new();
    for name in ["file:a.db?mode=memory", ":memory:", "a b%20ü#.db"] {
        let table = create(&scratch.open(name), "t");
        append(&scratch.open(name), table, &Plan::new(1));
        assert!(file_bytes(&scratch.path(name)) > 0, "{name}");
    }
}

#[test]
fn a_newer_format_is_refused_with_both_numbers() {
    let scratch = Scratch::new();
    create(&scratch.open("a.db"), "t");
    let raw = rusqlite::Connection::open(scratch.path("a.db")).unwrap();
    raw.execute("UPDATE atsdb_store SET value = 41 WHERE key = 'format'", []).unwrap();
    drop(raw);
    let (kind, message) = refusal(&scratch.path("a.db"), &SqliteOptions::default());
    assert_eq!(kind, ErrorKind::NewerFormat);
    assert!(message.contains("41") && message.contains(&FORMAT.to_string()), "{message}");
}

#[test]
fn a_store_carries_its_marks() {
    let scratch = Scratch::new();
    let store = scratch.open("a.db");
    let raw = rusqlite::Connection::open(scratch.path("a.db")).unwrap();
    let number = |sql: &str| raw.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(number("PRAGMA application_id"), i64::from(APPLICATION_ID));
    assert_eq!(number("PRAGMA auto_vacuum"), 2);
    assert_eq!(number("SELECT value FROM atsdb_store WHERE key = 'format'"), FORMAT);
    let mode: String = raw.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    let other = scratch.open("b.db");
    assert_ne!(store.uid(), other.uid());
    assert_eq!(store.uid(), reopen(&scratch.path("a.db")).uid());
    assert_eq!(store.url(), format!("sqlite:{}", scratch.path("a.db").display()));
}

#[test]
fn a_store_open_for_reading_refuses_every_write() {
    let scratch = Scratch::new();
    let writer = scratch.open("a.db");
    let table = create(&writer, "t");
    append(&writer, table, &Plan::new(1));
    let options = SqliteOptions { read_only: true, ..SqliteOptions::default() };
    let store = SqliteStore::open(&scratch.path("a.db"), &options).unwrap();
    assert!(store.is_read_only());
    refuses_writes(&store, table);
    // It still sees the changes of others.
    append(&writer, table, &Plan::new(2));
    assert_eq!(visible(&store, table).len(), 2);
    assert!(store.size().unwrap().total > 0);
    assert_eq!(store.verify().unwrap(), []);
}

pub(crate) fn refuses_writes(store: &SqliteStore, table: TableId) {
    let change = || vec![Change { add: vec![Plan::new(9).chunk(table)], ..Change::default() }];
    let kinds = [
        store.create_table(&series_table("u"), None).unwrap_err().kind(),
        store.drop_table(table).unwrap_err().kind(),
        store.map_values(table, ColumnId(1), 10, &[b"a"]).unwrap_err().kind(),
        store.open_stage(0).unwrap_err().kind(),
        store.stage(StageId(1), Vec::new(), 0).unwrap_err().kind(),
        store.unstage(StageId(1), &[ChunkId(1)]).unwrap_err().kind(),
        store.unstage_table(StageId(1), table).unwrap_err().kind(),
        store.abandon_stage(StageId(1)).unwrap_err().kind(),
        store.commit(&change(), 0).unwrap_err().kind(),
        store.acquire_lease("seal", "a", 0, 1).unwrap_err().kind(),
        store.release_lease("seal", "a").unwrap_err().kind(),
        store.reclaim(1, 0).unwrap_err().kind(),
    ];
    assert_eq!(kinds, [ErrorKind::ReadOnly; 12]);
}

#[test]
fn the_file_falls_after_drop_and_reclaim() {
    let scratch = Scratch::new();
    let path = scratch.path("a.db");
    let store = scratch.open("a.db");
    let (gone, kept) = (create(&store, "gone"), create(&store, "kept"));
    for seed in 0..20 {
        append(&store, gone, &Plan::new(seed).with_pages(8, 50_000));
        append(&store, kept, &Plan::new(100 + seed).with_pages(2, 5_000));
    }
    let names: Vec<String> = (0..5_000).map(|number| format!("a sensor of the number {number}")).collect();
    let values: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
    store.map_values(gone, ColumnId(1), 1 << 32, &values).unwrap();
    store.drop_table(gone).unwrap();
    let total = store.size().unwrap().total;
    reclaim_all(&store);
    let (file, log) = (file_bytes(&path), file_bytes(&scratch.path("a.db-wal")));
    assert!(file < 500_000, "{file} bytes are left of 8 MB");
    assert!(log < 100_000, "{log} bytes of log are left");
    assert!(store.size().unwrap().total <= total);
    assert_eq!(store.verify().unwrap(), []);
    assert_eq!(visible(&store, kept).len(), 20);
}

#[test]
fn a_reader_does_not_keep_reclaiming_from_its_end() {
    let scratch = Scratch::new();
    let store = scratch.open("a.db");
    let table = create(&store, "t");
    for seed in 0..10 {
        append(&store, table, &Plan::new(seed).with_pages(4, 50_000));
    }
    let snapshot = store.snapshot().unwrap();
    store.drop_table(table).unwrap();
    reclaim_all(&store);
    assert_eq!(snapshot.chunks(table, TimeRange::ALL).unwrap().len(), 10);
    assert_eq!(snapshot.read_pages(ChunkId(10), &[ColumnId(3)]).unwrap()[0].len(), 50_000);
    drop(snapshot);
    create(&store, "u");
    drop(store);
    assert!(file_bytes(&scratch.path("a.db")) < 200_000);
}

/// The rows are checked by the tests of crate `atsdb`; this test verifies the catalogue.
#[test]
fn golden_stores_are_undamaged() {
    for name in ["types.db", "batches.db"] {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/format1").join(name);
        let scratch = Scratch::new();
        std::fs::copy(golden, scratch.path(name)).unwrap();
        let store = reopen(&scratch.path(name));
        assert_eq!(store.verify().unwrap(), [], "{name}");
        let snapshot = store.snapshot().unwrap();
        for table in snapshot.tables().unwrap() {
            snapshot.chunks(table.id, TimeRange::ALL).unwrap();
        }
    }
}

#[test]
fn only_the_owner_can_access_a_new_store_and_its_log() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    let store = scratch.open("a.db");
    crate::support::create(&store, "t");
    let mode = |name: &str| std::fs::metadata(scratch.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(["a.db", "a.db-wal", "a.db-shm"].map(mode), [0o600; 3]);
    drop(store);
    // Permissions that the owner has changed are kept.
    std::fs::set_permissions(scratch.path("a.db"), PermissionsExt::from_mode(0o640)).unwrap();
    drop(scratch.open("a.db"));
    assert_eq!(mode("a.db"), 0o640);
}

/// Files next to a store that was removed, or lost in a power cut, do not become part of a new store at the same path.
#[test]
fn a_new_store_takes_nothing_from_the_log_or_journal_of_a_removed_one() {
    let scratch = Scratch::new();
    let (path, log, journal) = (scratch.path("a"), scratch.path("a-wal"), scratch.path("a-journal"));
    let store = scratch.open("a");
    let table = create(&store, "t");
    append(&store, table, &Plan::new(1).with_pages(3, 20_000));
    let left_log = fs::read(&log).unwrap();
    drop(store);
    fs::remove_file(&path).unwrap();
    let other = rusqlite::Connection::open(scratch.path("other")).unwrap();
    other
        .execute_batch(
            "CREATE TABLE t (bytes BLOB); INSERT INTO t VALUES (randomblob(200000)); PRAGMA cache_size = 2; BEGIN",
        )
        .unwrap();
    other.execute_batch("UPDATE t SET bytes = randomblob(200000)").unwrap();
    let left_journal = fs::read(scratch.path("other-journal")).unwrap();
    for (name, left) in [(&log, left_log), (&journal, left_journal)] {
        assert!(left.len() > 4_096 && left[0] != 0);
        fs::write(name, left).unwrap();
        let store = scratch.open("a");
        assert_eq!(store.snapshot().unwrap().tables().unwrap().len(), 0);
        assert_eq!(store.verify().unwrap(), []);
        let table = create(&store, "new");
        append(&store, table, &Plan::new(2));
        drop(store);
        assert_eq!(visible(&reopen(&path), table).len(), 1);
        fs::remove_file(&path).unwrap();
    }
}
