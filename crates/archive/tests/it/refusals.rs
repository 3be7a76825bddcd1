//! Refused copies: the error has a hint, and the options that it names work.

use crate::support::{append, assert_same, copy, copy_with, fill, memory, readings, rows};
use atsdb_core::{ColumnId, ErrorKind, TableDefinition};
use atsdb_engine::{CopyOptions, Engine, Moment, Selection};

#[track_caller]
fn refused(source: &Engine, target: &Engine, options: &CopyOptions, kind: ErrorKind, words: &str) {
    let before = crate::support::hashes(target);
    let error = copy_with(source, target, options).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(words), "{error}");
    assert!(error.hint().is_some(), "{error}");
    assert_eq!(crate::support::hashes(target), before);
    assert!(target.store().stages().unwrap().is_empty());
}

fn overwrite() -> CopyOptions {
    CopyOptions { overwrite: true, ..CopyOptions::default() }
}

fn of(tables: &[&str], from: Option<i64>, to: Option<i64>) -> CopyOptions {
    let tables = tables.iter().map(|name| (*name).to_owned()).collect();
    let selection = Selection { tables, from: from.map(Moment::Count), to: to.map(Moment::Count) };
    CopyOptions { selection, ..CopyOptions::default() }
}

#[test]
fn a_store_is_not_copied_to_itself() {
    let source = memory();
    fill(&source);
    refused(&source, &source, &overwrite(), ErrorKind::Usage, "the same store");
}

#[test]
fn a_target_with_tables_of_its_own_is_left_alone_unless_allowed() {
    let (source, target) = (memory(), memory());
    fill(&source);
    target.create_table(&readings("own")).unwrap();
    refused(&source, &target, &CopyOptions::default(), ErrorKind::Exists, "not empty: it has table own");
    copy_with(&source, &target, &CopyOptions { allow_non_empty: true, ..CopyOptions::default() }).unwrap();
    target.table("own").unwrap();
    target.drop_table(&target.table("own").unwrap()).unwrap();
    assert_same(&source, &target);
}

#[test]
fn a_table_of_the_same_name_is_kept_unless_overwriting() {
    let (source, target) = (memory(), memory());
    fill(&source);
    let other = TableDefinition::new("READINGS").with_column("x", atsdb_core::ColumnType::Bool, None);
    target.create_table(&other).unwrap();
    let beside = CopyOptions { allow_non_empty: true, ..CopyOptions::default() };
    refused(&source, &target, &beside, ErrorKind::Exists, "already has a table READINGS");
    let report = copy_with(&source, &target, &overwrite()).unwrap();
    assert_eq!(report.tables_dropped, 1);
    assert_same(&source, &target);
}

#[test]
fn changes_in_the_copy_are_kept_unless_overwriting() {
    type Change = fn(&Engine);
    let changes: [Change; 3] = [
        |target| append(target, &target.table("readings").unwrap(), &rows(3, 5)),
        |target| {
            target.recompress(None).unwrap();
        },
        |target| {
            append(target, &target.table("empty").unwrap(), &rows(1, 1));
        },
    ];
    for change in changes {
        let (source, target) = (memory(), memory());
        fill(&source);
        copy(&source, &target).unwrap();
        change(&target);
        refused(&source, &target, &CopyOptions::default(), ErrorKind::Exists, "was changed since it was copied");
        copy_with(&source, &target, &overwrite()).unwrap();
        assert_same(&source, &target);
    }
}

#[test]
fn a_dictionary_with_other_strings_is_not_mixed_up() {
    let (source, target) = (memory(), memory());
    let table = fill(&source);
    copy(&source, &target).unwrap();
    let there = target.table("readings").unwrap();
    // Strings of a batch that was never committed.
    target.store().map_values(there.id, ColumnId(1), 1 << 20, &[b"stray"]).unwrap();
    copy(&source, &target).unwrap();
    append(&source, &table, &rows(30, 40));
    refused(
        &source,
        &target,
        &CopyOptions::default(),
        ErrorKind::Exists,
        "dictionary of column sensor has other strings",
    );
    copy_with(&source, &target, &overwrite()).unwrap();
    assert_same(&source, &target);
}

#[test]
fn a_table_that_is_not_there_is_named_with_the_nearest() {
    let (source, target) = (memory(), memory());
    fill(&source);
    let error = copy_with(&source, &target, &of(&["reading"], None, None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("Readings"), "{error}");
}

#[test]
fn some_tables_are_copied_one_after_the_other() {
    let (source, target) = (memory(), memory());
    fill(&source);
    for name in ["READINGS", "sensors", "empty", "v"] {
        copy_with(&source, &target, &of(&[name], None, None)).unwrap();
    }
    assert_same(&source, &target);
}

#[test]
fn a_range_of_times_has_exactly_the_rows_between() {
    let (source, target) = (memory(), memory());
    let table = fill(&source);
    source.recompress(None).unwrap();
    append(&source, &table, &rows(3, 20));
    let (from, to) = (86_400 + 100, 3 * 86_400 + 7);
    let report = copy_with(&source, &target, &of(&[], Some(from), Some(to))).unwrap();
    assert!(report.chunks > 2, "{report:?}");
    let count = |engine: &Engine, from: Option<i64>, to: Option<i64>| {
        let snapshot = engine.snapshot().unwrap();
        let table = snapshot.table("readings").unwrap();
        let range = atsdb_core::TimeRange { start: from, end: to };
        let request = atsdb_engine::ScanRequest { range, ..atsdb_engine::ScanRequest::all(table) };
        let scan = snapshot.scan(table, &request).unwrap();
        scan.batches().map(|rows| rows.unwrap().num_rows()).sum::<usize>()
    };
    assert_eq!(count(&target, None, None), count(&source, Some(from), Some(to)));
    assert!(count(&target, None, None) > 0);
    assert!(target.verify(None).unwrap().findings.is_empty());
    // If the range is the same, only the chunks at its ends are transferred again.
    let again = copy_with(&source, &target, &of(&[], Some(from), Some(to))).unwrap();
    assert!(again.chunks_kept > 0 && again.chunks < report.chunks, "{again:?}");
    refused(&source, &target, &of(&[], Some(from), None), ErrorKind::Exists, "a copy of other times");
    refused(&source, &target, &CopyOptions::default(), ErrorKind::Exists, "a copy of other times");
    copy_with(&source, &target, &overwrite()).unwrap();
    assert_same(&source, &target);
}

#[test]
fn one_copy_at_a_time_works_on_a_target() {
    let (source, target) = (memory(), memory());
    fill(&source);
    assert!(target.store().acquire_lease("copy", "somebody", target.now_ms(), 3_600_000).unwrap());
    let error = copy(&source, &target).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    target.store().release_lease("copy", "somebody").unwrap();
    copy(&source, &target).unwrap();
}

#[test]
fn damage_in_the_source_is_named_and_nothing_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let (source, target) = (crate::support::sqlite(&path), memory());
    fill(&source);
    drop(source);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let changed = connection.execute(
        "UPDATE atsdb_page SET bytes = CAST(substr(bytes, 1, length(bytes) - 1) || x'5a' AS BLOB) WHERE id = (SELECT max(id) FROM atsdb_page
         WHERE id & 65535 = 2)",
        [],
    );
    assert_eq!(changed.unwrap(), 1);
    drop(connection);
    let source = crate::support::sqlite(&path);
    let error = copy(&source, &target).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("table Readings, chunk") && error.to_string().contains("column"), "{error}");
    assert!(target.tables().unwrap().is_empty());
}

/// A backup without some of the rows must not succeed.
#[test]
fn a_source_that_lost_a_chunk_is_not_copied_without_it() {
    for damage in [
        "DELETE FROM atsdb_chunk WHERE id = (SELECT min(id) FROM atsdb_chunk)",
        "DELETE FROM atsdb_map WHERE id = (SELECT max(id) FROM atsdb_map)",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let (source, target) = (crate::support::sqlite(&path), memory());
        fill(&source);
        drop(source);
        assert!(rusqlite::Connection::open(&path).unwrap().execute(damage, []).unwrap() > 0, "{damage}");
        let error = copy(&crate::support::sqlite(&path), &target).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{damage}: {error}");
        assert!(target.tables().unwrap().is_empty());
    }
}
