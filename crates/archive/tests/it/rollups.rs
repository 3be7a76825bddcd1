//! A copied rollup has the same rows and the same stale times.

use crate::support::{DAY, append, assert_same, copy, copy_with, fill, memory, rows};
use atsdb_core::{ChunkId, ErrorKind, Rollup, RollupState, Table, TableDefinition};
use atsdb_engine::{CopyOptions, Engine, Selection};

fn add_rollup(engine: &Engine, source: &Table) -> Table {
    let mut definition = crate::support::readings("hourly");
    definition.indexes.clear();
    definition.rollup = Some(Rollup {
        source: source.id,
        schema: None,
        table: "readings".to_owned(),
        every: "1 hour".to_owned(),
        query: "SELECT 1".to_owned(),
        state: RollupState::new(ChunkId(0)),
    });
    let mut batch = engine.batch(None);
    batch.create_rollup(source, definition).unwrap();
    batch.commit().unwrap();
    engine.table("hourly").unwrap()
}

/// Adds rows for all stale times.
fn refresh(engine: &Engine) {
    let mut batch = engine.batch(None);
    let snapshot = batch.snapshot().unwrap();
    let table = snapshot.table("hourly").unwrap().clone();
    let rollup = table.definition.rollup.clone().unwrap();
    let stale = snapshot.stale_times(&rollup).unwrap();
    let state = RollupState { accounted: snapshot.newest_chunk().unwrap(), stale: Vec::new(), closed_before: None };
    let summary: Vec<_> = stale.iter().map(|times| Ok(rows(times.0.max(0) / DAY, 2))).collect();
    batch.refresh_rollup(&table, &stale, summary, state).unwrap();
    batch.commit().unwrap();
}

fn stale(engine: &Engine) -> Vec<(i64, i64)> {
    let snapshot = engine.snapshot().unwrap();
    let rollup = snapshot.table("hourly").unwrap().definition.rollup.clone().unwrap();
    snapshot.stale_times(&rollup).unwrap()
}

fn sources(engine: &Engine) -> (Table, TableDefinition) {
    let rollup = engine.table("hourly").unwrap().definition;
    let source = engine.table("readings").unwrap();
    assert_eq!(rollup.rollup.as_ref().unwrap().source, source.id);
    let logs = engine.store().snapshot().unwrap().tables().unwrap();
    let log = logs.into_iter().find(|table| Some(table.id) == source.definition.change_log).unwrap();
    assert_eq!(log.definition.logs, Some(source.id));
    (source, rollup)
}

#[test]
fn exactly_the_stale_times_of_the_source_are_stale_in_the_copy() {
    let (source, target) = (memory(), memory());
    let table = fill(&source);
    // The table has different numbers in the two stores.
    target.create_table(&crate::support::readings("own")).unwrap();
    add_rollup(&source, &table);
    let options = CopyOptions { allow_non_empty: true, ..CopyOptions::default() };
    copy_with(&source, &target, &options).unwrap();
    assert_eq!(stale(&target), stale(&source));
    assert_eq!(stale(&target), [(i64::MIN, i64::MAX)]);
    sources(&target);

    refresh(&source);
    append(&source, &source.table("readings").unwrap(), &rows(2, 9));
    copy_with(&source, &target, &options).unwrap();
    assert_eq!(stale(&source), [(2 * DAY, 2 * DAY + 8)]);
    assert_eq!(stale(&target), stale(&source));

    // The change log also lists new rows that were sealed, and rows that were removed.
    source.recompress(None).unwrap();
    let mut batch = source.batch(None);
    let snapshot = source.snapshot().unwrap();
    let readings = snapshot.table("readings").unwrap().clone();
    let first = snapshot.chunks(&readings).unwrap()[0].clone();
    batch.replace(&readings, first.id, None).unwrap();
    batch.commit().unwrap();
    assert_eq!(stale(&source).len(), 2);
    copy_with(&source, &target, &options).unwrap();
    assert_eq!(stale(&target), stale(&source));
}

#[test]
fn a_copied_rollup_is_refreshed_independently() {
    let (source, target) = (memory(), memory());
    let table = fill(&source);
    add_rollup(&source, &table);
    refresh(&source);
    copy(&source, &target).unwrap();
    assert_same(&source, &target);
    assert!(stale(&target).is_empty());
    let (readings, _) = sources(&target);
    append(&target, &readings, &rows(1, 3));
    assert_eq!(stale(&target), [(DAY, DAY + 2)]);
    target.recompress(None).unwrap();
    assert_eq!(stale(&target), [(DAY, DAY + 2)]);
    refresh(&target);
    assert!(stale(&target).is_empty());
}

#[test]
fn rollups_come_and_go_with_further_copies() {
    let (source, target) = (memory(), memory());
    let table = fill(&source);
    copy(&source, &target).unwrap();
    let rollup = add_rollup(&source, &table);
    refresh(&source);
    copy(&source, &target).unwrap();
    assert_same(&source, &target);
    assert!(stale(&target).is_empty());
    sources(&target);
    source.drop_table(&rollup).unwrap();
    copy(&source, &target).unwrap();
    assert_same(&source, &target);
    assert_eq!(target.table("readings").unwrap().definition.change_log, None);
    let all = target.store().snapshot().unwrap().tables().unwrap();
    assert!(all.iter().all(|table| table.definition.logs.is_none()));
}

#[test]
fn a_rollup_is_not_copied_without_its_table() {
    let (source, target) = (memory(), memory());
    let table = fill(&source);
    add_rollup(&source, &table);
    let only = |name: &str| CopyOptions {
        selection: Selection { tables: vec![name.to_owned()], ..Selection::default() },
        ..CopyOptions::default()
    };
    let error = copy_with(&source, &target, &only("hourly")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("a rollup of table readings"), "{error}");
    copy_with(&source, &target, &only("readings")).unwrap();
    assert_eq!(target.table("readings").unwrap().definition.change_log, None);
}

#[test]
fn a_rollup_in_a_backup_comes_back_as_it_was() {
    let (source, target) = (memory(), memory());
    let table = fill(&source);
    add_rollup(&source, &table);
    refresh(&source);
    append(&source, &source.table("readings").unwrap(), &rows(2, 9));
    let folder = tempfile::tempdir().unwrap();
    let archive = atsdb_archive::Archive::open(folder.path().join("x").to_str().unwrap()).unwrap();
    archive.write(&source.cut(&Selection::default()).unwrap(), true, None, None).unwrap();
    let backup = archive.backup(&atsdb_archive::BackupSelector::Latest).unwrap();
    target.copy_from(&archive.cut(&backup, &Selection::default()).unwrap(), &CopyOptions::default()).unwrap();
    assert_same(&source, &target);
    assert_eq!(stale(&target), [(2 * DAY, 2 * DAY + 8)]);
    sources(&target);
}
