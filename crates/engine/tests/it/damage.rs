//! Damaged pages are reported with their location, and other pages stay readable.

use crate::support::{append, engine, read_all, readings, row, rows_of, scrambled, sqlite};
use atsdb_core::{ErrorKind, TimeRange};
use atsdb_engine::{ScanRequest, SystemEnvironment};
use std::cell::RefCell;

#[test]
fn a_damaged_page_is_named_and_the_others_stay_readable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let build = engine(sqlite(&path), SystemEnvironment);
    let table = build.create_table(&readings()).unwrap();
    for day in 0..3_i64 {
        // The chunk is too large for its pages to be in its row.
        let rows: Vec<_> = (0..1_000).map(|second| row(day * 86_400 + second, "a", "ok", scrambled(second))).collect();
        append(&build, &table, &rows);
    }
    drop(build);
    let file = rusqlite::Connection::open(&path).unwrap();
    let page: i64 =
        file.query_row("SELECT id FROM atsdb_page ORDER BY id DESC LIMIT 1 OFFSET 0", [], |row| row.get(0)).unwrap();
    let mut bytes: Vec<u8> =
        file.query_row("SELECT bytes FROM atsdb_page WHERE id = ?1", [page], |row| row.get(0)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    file.execute("UPDATE atsdb_page SET bytes = ?1 WHERE id = ?2", rusqlite::params![bytes, page]).unwrap();
    drop(file);

    let engine = engine(sqlite(&path), SystemEnvironment);
    let error = read_all(&engine, &table).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let text = error.to_string();
    assert!(text.contains("table readings") && text.contains("column count"), "{text}");
    let request = ScanRequest { range: TimeRange::from(0..2 * 86_400), ..ScanRequest::all(&table) };
    let scan = engine.snapshot().unwrap().scan(&table, &request).unwrap();
    assert_eq!(rows_of(scan.batches()).unwrap().len(), 2_000, "other chunks are readable");
    let seen = RefCell::new(Vec::new());
    let report = engine.verify_watched(None, &|done, total| seen.borrow_mut().push((done, total))).unwrap();
    assert_eq!(seen.into_inner(), [(1_000, 3_000), (2_000, 3_000), (3_000, 3_000)], "damaged rows were checked, too");
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    assert!(report.findings[0].location.contains("column count"), "{:?}", report.findings);
    assert_eq!((report.chunks, report.rows), (3, 2_000));
    let error = engine.recompress(None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(engine.stats(None).unwrap()[0].fresh_chunks, 1, "the other slices are sealed all the same");
}

#[test]
fn a_descriptor_that_is_damaged_after_it_was_read_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let engine = engine(sqlite(&path), SystemEnvironment);
    let table = engine.create_table(&readings()).unwrap();
    append(&engine, &table, &[row(0, "a", "ok", 7)]);
    for _ in 0..2 {
        assert_eq!(read_all(&engine, &table).unwrap().len(), 1);
    }
    let file = rusqlite::Connection::open(&path).unwrap();
    let mut bytes: Vec<u8> = file.query_row("SELECT descriptor FROM atsdb_chunk", [], |row| row.get(0)).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    file.execute("UPDATE atsdb_chunk SET descriptor = ?1", [bytes]).unwrap();
    let error = read_all(&engine, &table).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("table readings, chunk"), "{error}");
}

/// A single flipped bit can cause this, and SQLite notices it only in its own integrity check.
#[test]
fn a_chunk_that_an_index_hides_is_missed_by_every_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let build = engine(sqlite(&path), SystemEnvironment);
    let table = build.create_table(&readings()).unwrap();
    for day in 0..4_i64 {
        append(&build, &table, &[row(day * 86_400, "a", "ok", 7)]);
    }
    drop(build);
    let file = rusqlite::Connection::open(&path).unwrap();
    let sql: String =
        file.query_row("SELECT sql FROM sqlite_schema WHERE name = 'atsdb_chunk_slice'", [], |row| row.get(0)).unwrap();
    file.execute_batch(&format!("DROP INDEX atsdb_chunk_slice; {sql} AND id <> 3; PRAGMA writable_schema = ON"))
        .unwrap();
    file.execute("UPDATE sqlite_schema SET sql = ?1 WHERE name = 'atsdb_chunk_slice'", [sql]).unwrap();
    drop(file);

    let engine = engine(sqlite(&path), SystemEnvironment);
    let snapshot = engine.snapshot().unwrap();
    let request = ScanRequest { range: TimeRange::from(0..86_400), ..ScanRequest::all(&table) };
    let errors = [
        read_all(&engine, &table).unwrap_err(),
        snapshot.scan(&table, &request).unwrap_err(),
        engine.recompress(None).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("3 entries, and 4 were written") && error.hint().is_some(), "{error}");
    }
    let report = engine.verify(None).unwrap();
    assert!(report.findings.iter().any(|finding| finding.problem.contains("4 were written")), "{:?}", report.findings);
}
