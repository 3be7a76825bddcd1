//! Copying from any kind of store to any other.

use crate::support::{
    append, assert_same, copy, copy_with, descriptors, fill, hashes, memory, on_server, split, sqlite,
};
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use atsdb_core::{ColumnType, ErrorKind, InMemory, TableDefinition};
use atsdb_engine::{CopyOptions, Engine};
use atsdb_testkit::server::ServerKind;
use std::sync::Arc;

#[test]
fn a_store_moved_from_one_kind_to_the_next_and_back_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let first = sqlite(&folder.path().join("a.db"));
    fill(&first);
    let mut stores: Vec<(&str, Engine)> = vec![("memory", memory())];
    stores.extend(on_server(ServerKind::Postgres).map(|engine| ("PostgreSQL", engine)));
    stores.extend(on_server(ServerKind::Mariadb).map(|engine| ("MariaDB", engine)));
    stores.extend(on_server(ServerKind::Mysql).map(|engine| ("MySQL", engine)));
    stores.push(("a split store", split(&folder.path().join("split"))));
    stores.push(("SQLite", sqlite(&folder.path().join("b.db"))));
    let before = hashes(&first);
    let mut source = first.clone();
    for (name, target) in stores {
        let report = copy(&source, &target).unwrap_or_else(|error| panic!("to {name}: {error}"));
        assert_eq!((report.tables, report.chunks_kept, report.chunks_removed), (4, 0, 0), "{name}");
        assert_same(&source, &target);
        // The bytes are the same, including the chunk uids.
        assert_eq!(descriptors(&source, "readings"), descriptors(&target, "readings"), "{name}");
        source = target;
    }
    assert_eq!(hashes(&source), before);
    assert_eq!(descriptors(&source, "readings"), descriptors(&first, "readings"));
}

#[test]
fn a_copy_is_written_to_like_any_store() {
    let (source, target) = (memory(), memory());
    fill(&source);
    copy(&source, &target).unwrap();
    let table = target.table("readings").unwrap();
    for engine in [&source, &target] {
        crate::support::append(engine, &engine.table("readings").unwrap(), &crate::support::rows(9, 100));
        engine.recompress(None).unwrap();
    }
    // Both dictionaries gave the strings the same indices.
    assert_eq!(hashes(&source), hashes(&target));
    assert_eq!(
        source.snapshot().unwrap().mapping(&table, &table.definition.columns[1]).unwrap(),
        target.snapshot().unwrap().mapping(&table, &table.definition.columns[1]).unwrap()
    );
}

#[test]
fn the_hash_depends_on_rows_and_not_on_their_layout() {
    let (one, other) = (memory(), memory());
    let table = fill(&one);
    fill(&other);
    one.recompress(None).unwrap();
    assert_eq!(hashes(&one), hashes(&other));
    crate::support::append(&other, &table, &crate::support::rows(0, 1));
    assert_ne!(hashes(&one), hashes(&other));
    crate::support::append(&one, &table, &crate::support::rows(0, 1));
    assert_eq!(hashes(&one), hashes(&other));
}

/// A table in memory.
fn live() -> TableDefinition {
    let definition = TableDefinition::new("live").with_column("key", ColumnType::Int64, None).with_column(
        "text",
        ColumnType::Text,
        None,
    );
    TableDefinition { memory: Some(InMemory::default()), ..definition }
}

fn live_rows(keys: std::ops::Range<i64>) -> RecordBatch {
    let texts = keys.clone().map(|key| Some(format!("text {key}"))).collect::<StringArray>();
    let columns: [(&str, ArrayRef); 2] =
        [("key", Arc::new(Int64Array::from_iter_values(keys))), ("text", Arc::new(texts))];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

#[test]
fn a_process_sees_the_rows_of_a_later_copy_unless_it_has_changed_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let (source, path) = (memory(), folder.path().join("b.db"));
    let table = source.create_table(&live()).unwrap();
    append(&source, &table, &live_rows(0..10));
    copy(&source, &sqlite(&path)).unwrap();
    let process = sqlite(&path);
    let row_count = || -> atsdb_core::Result<usize> {
        let snapshot = process.snapshot()?;
        Ok(snapshot.resident(snapshot.table("live")?)?.row_count())
    };
    assert_eq!(row_count().unwrap(), 10);
    append(&source, &table, &live_rows(10..15));
    let earlier = process.snapshot().unwrap();
    copy(&source, &sqlite(&path)).unwrap();
    assert_eq!(row_count().unwrap(), 15);
    assert_eq!(earlier.resident(earlier.table("live").unwrap()).unwrap().row_count(), 10);
    // Its own changes are not lost without a word.
    append(&process, &process.table("live").unwrap(), &live_rows(20..21));
    assert_eq!(row_count().unwrap(), 16);
    append(&source, &table, &live_rows(15..16));
    copy(&source, &sqlite(&path)).unwrap();
    let error = row_count().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains("has replaced table live by a copy"), "{error}");
}

#[test]
fn rows_of_a_table_in_memory_are_chunks_of_it_in_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    let (source, path) = (memory(), folder.path().join("b.db"));
    let table = source.create_table(&live()).unwrap();
    append(&source, &table, &live_rows(0..200_000));
    let target = sqlite(&path);
    let report = copy(&source, &target).unwrap();
    assert_eq!(report.rows, 200_000);
    drop(target);
    let target = sqlite(&path);
    assert_eq!(target.table("live").unwrap().definition.memory, Some(InMemory::default()));
    assert_eq!(hashes(&target), hashes(&source));
    // The next copy contains the new rows, and so does a backup.
    append(&source, &table, &live_rows(-7..0));
    drop(target);
    let target = sqlite(&path);
    copy(&source, &target).unwrap();
    drop(target);
    assert_eq!(hashes(&sqlite(&path)), hashes(&source));
    let archive = atsdb_archive::Archive::open(folder.path().join("backups").to_str().unwrap()).unwrap();
    crate::backups::back_up(&source, &archive, None).unwrap();
    let target = memory();
    crate::backups::restore(&archive, &atsdb_archive::BackupSelector::Latest, &target).unwrap();
    assert_eq!(hashes(&target), hashes(&source));
    // A table that the process has not used is copied from its chunks.
    let third = memory();
    assert_eq!(copy(&sqlite(&path), &third).unwrap().rows, 200_007);
    assert_eq!(hashes(&third), hashes(&source));
    // Rows in memory are not replaced while a process holds them.
    append(&source, &table, &live_rows(-9..-7));
    let error = copy(&source, &target).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exists, "{error}");
    let overwrite = CopyOptions { overwrite: true, ..CopyOptions::default() };
    copy_with(&source, &target, &overwrite).unwrap();
    assert_eq!(hashes(&target), hashes(&source));
}
