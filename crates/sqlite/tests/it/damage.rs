//! Damaged files: verify finds the damage and names its location, and nothing panics.

use crate::support::{Scratch, append, create, reopen, visible};
use atsdb_core::{Change, ColumnId, ErrorKind, Store, TimeRange};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use atsdb_testkit::sample::{Plan, Random};
use std::path::PathBuf;

/// A closed store with several chunks.
fn sample(scratch: &Scratch) -> PathBuf {
    let store = scratch.open("a.db");
    let table = create(&store, "t");
    for seed in 0..6 {
        append(&store, table, &Plan::new(seed).with_pages(3, 9_000));
    }
    store.map_values(table, ColumnId(1), 100, &[b"a", b"b", b"c"]).unwrap();
    scratch.path("a.db")
}

#[test]
fn verify_names_what_contradicts() {
    let damages = [
        ("DELETE FROM atsdb_page WHERE id = (2 << 16) | 1", "chunk 2"),
        ("UPDATE atsdb_page SET bytes = x'00' WHERE id = (3 << 16) | 2", "chunk 3"),
        ("INSERT INTO atsdb_page VALUES (900 << 16, x'00')", "payload 900"),
        ("DELETE FROM atsdb_chunk WHERE id = 4", "payload 4"),
        ("UPDATE atsdb_chunk SET table_id = 77 WHERE id = 5", "chunk 5"),
        ("UPDATE atsdb_chunk SET stage = 3 WHERE id = 5", "chunk 5"),
        ("UPDATE atsdb_chunk SET time_min = time_max + 1 WHERE id = 1", "chunk 1"),
        ("UPDATE atsdb_chunk SET payload = 1 WHERE id = 2", "chunk 2"),
        ("INSERT INTO atsdb_garbage VALUES (6, 0)", "chunk 6"),
        ("DELETE FROM atsdb_map WHERE id = 1", "dictionary of column 1 of table 1"),
        ("UPDATE atsdb_table SET name = 'u'", "table 1"),
        ("UPDATE atsdb_table SET definition = '{'", "table 1"),
        ("UPDATE atsdb_table SET definition = replace(definition, 'float64', 'float32')", "table 1"),
        ("UPDATE atsdb_map SET value = x'7a' WHERE id = 1", "dictionary of column 1 of table 1"),
        ("DELETE FROM sqlite_sequence WHERE name = 'atsdb_chunk'", "atsdb_chunk"),
    ];
    for (damage, place) in damages {
        let scratch = Scratch::new();
        let path = sample(&scratch);
        let raw = rusqlite::Connection::open(&path).unwrap();
        assert_eq!(raw.execute(damage, []).unwrap(), 1, "{damage}");
        drop(raw);
        let findings = reopen(&path).verify().unwrap();
        assert!(findings.iter().any(|finding| finding.location == place), "{damage}: {findings:?}");
    }
}

/// Small chunks have their pages in their rows.
#[test]
fn damage_to_the_pages_in_a_row_is_reported() {
    let damages = [
        "UPDATE atsdb_chunk SET pages = NULL WHERE id = 2",
        "UPDATE atsdb_chunk SET pages = x'' WHERE id = 2",
        "UPDATE atsdb_chunk SET pages = substr(pages, 1, length(pages) - 1) WHERE id = 2",
        "UPDATE atsdb_chunk SET pages = x'0000' WHERE id = 2",
    ];
    for damage in damages {
        let scratch = Scratch::new();
        let store = scratch.open("a.db");
        let table = create(&store, "t");
        (0..3).for_each(|seed| append(&store, table, &Plan::new(seed).with_pages(3, 90)));
        drop(store);
        let path = scratch.path("a.db");
        let changed = rusqlite::Connection::open(&path).unwrap().execute(damage, []).unwrap();
        assert_eq!(changed, 1, "{damage}");
        let store = reopen(&path);
        let findings = store.verify().unwrap();
        assert!(findings.iter().all(|finding| finding.location == "chunk 2") && findings.len() == 1, "{findings:?}");
        let snapshot = store.snapshot().unwrap();
        let entries = snapshot.chunks(table, TimeRange::ALL).unwrap();
        let read = |at: usize| snapshot.read_pages(entries[at].id, &[ColumnId(0), ColumnId(2)]);
        let error = read(1).unwrap_err();
        assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains("chunk 2"), "{damage}: {error}");
        assert_eq!(read(2).unwrap().len(), 2, "damage stays local");
    }
}

/// A chunk whose pages are in its row may later get pages for an index, which are stored under this number.
#[test]
fn a_chunk_with_pages_in_its_row_has_its_own_number() {
    let scratch = Scratch::new();
    let store = scratch.open("a.db");
    let table = create(&store, "t");
    (0..3).for_each(|seed| append(&store, table, &Plan::new(seed).with_pages(3, 90)));
    drop(store);
    let path = scratch.path("a.db");
    let damage = "UPDATE atsdb_chunk SET payload = 99 WHERE id = 2";
    assert_eq!(rusqlite::Connection::open(&path).unwrap().execute(damage, []).unwrap(), 1);
    let findings = reopen(&path).verify().unwrap();
    assert!(findings.iter().all(|finding| finding.location == "chunk 2") && findings.len() == 1, "{findings:?}");
}

/// In a store of an older format, no row has pages.
#[test]
fn a_store_without_pages_in_rows_is_written_as_it_is() {
    let scratch = Scratch::new();
    drop(scratch.open("a.db"));
    let path = scratch.path("a.db");
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch(
        "ALTER TABLE atsdb_chunk DROP COLUMN pages; UPDATE atsdb_store SET value = 1 WHERE key = 'format'",
    )
    .unwrap();
    let store = reopen(&path);
    let table = create(&store, "t");
    (0..3).for_each(|seed| append(&store, table, &Plan::new(seed).with_pages(3, 90)));
    let entries = visible(&store, table);
    assert_eq!(store.snapshot().unwrap().read_pages(entries[1].id, &[ColumnId(1)]).unwrap()[0].len(), 90);
    let remove = vec![(table, entries[1].id)];
    store.commit(&[Change { remove, ..Change::default() }], 0).unwrap().remove(0).unwrap();
    let count = |sql: &str| raw.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM atsdb_page"), 9);
    while store.reclaim(1 << 20, 0).unwrap().more {}
    assert_eq!(count("SELECT count(*) FROM atsdb_page"), 6);
    store.drop_table(table).unwrap();
    while store.reclaim(1 << 20, 0).unwrap().more {}
    assert_eq!(count("SELECT count(*) FROM atsdb_page"), 0);
    assert!(store.verify().unwrap().is_empty());
}

#[test]
fn a_missing_page_is_reported_with_its_chunk_and_column_and_stays_local() {
    let scratch = Scratch::new();
    let path = sample(&scratch);
    rusqlite::Connection::open(&path).unwrap().execute("DELETE FROM atsdb_page WHERE id = (2 << 16) | 1", []).unwrap();
    let store = reopen(&path);
    let snapshot = store.snapshot().unwrap();
    let entries = snapshot.chunks(snapshot.tables().unwrap()[0].id, TimeRange::ALL).unwrap();
    let error = snapshot.read_pages(entries[1].id, &[ColumnId(0), ColumnId(1)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("column 1 of chunk 2"), "{error}");
    assert_eq!(snapshot.read_pages(entries[1].id, &[ColumnId(0), ColumnId(2)]).unwrap().len(), 2);
    assert_eq!(snapshot.read_pages(entries[2].id, &[ColumnId(1)]).unwrap().len(), 1);
}

#[test]
fn bytes_overwritten_anywhere_never_panic() {
    let mut random = Random::new(4);
    let mut found = 0;
    for _ in 0..60 {
        let scratch = Scratch::new();
        let path = sample(&scratch);
        let mut bytes = std::fs::read(&path).unwrap();
        // The first bytes of a page of the file hold its structure, so these are overwritten more often.
        let page = random.below(bytes.len() as u64 / 4_096) as usize * 4_096;
        let start = page + if page == 0 { 100 } else { 0 };
        let damage = random.bytes(16);
        bytes[start..start + 16].copy_from_slice(&damage);
        std::fs::write(&path, &bytes).unwrap();
        let store = match SqliteStore::open(&path, &SqliteOptions::default()) {
            Ok(store) => store,
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotAStore), "{error}");
                found += 1;
                continue;
            }
        };
        let findings = store.verify().unwrap();
        found += usize::from(!findings.is_empty());
        let Ok(snapshot) = store.snapshot() else { continue };
        for table in snapshot.tables().unwrap_or_default() {
            for entry in snapshot.chunks(table.id, TimeRange::ALL).unwrap_or_default() {
                let _ = snapshot.read_pages(entry.id, &[ColumnId(0), ColumnId(1), ColumnId(2)]);
            }
        }
        let _ = (store.size(), store.reclaim(1 << 20, 0), store.drop_table(atsdb_core::TableId(1)));
    }
    // Only the middle of long pages is not checked by SQLite: for these bytes the pages have checksums.
    assert!(found >= 10, "{found}");
}

#[test]
fn a_truncated_file_is_reported() {
    let scratch = Scratch::new();
    let path = sample(&scratch);
    let bytes = std::fs::read(&path).unwrap();
    for length in [4_096, 20_000, bytes.len() - 4_096] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        match SqliteStore::open(&path, &SqliteOptions::default()) {
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotAStore), "{error}"),
            Ok(store) => {
                assert!(!store.verify().unwrap().is_empty(), "{length}");
                let _ = store.snapshot().map(|snapshot| snapshot.tables());
            }
        }
    }
    std::fs::write(&path, &bytes).unwrap();
    let store = reopen(&path);
    assert_eq!(visible(&store, store.snapshot().unwrap().tables().unwrap()[0].id).len(), 6);
}
