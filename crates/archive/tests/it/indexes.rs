//! Two indexes may have the same number: one that a store had, and one that was declared after the store was restored
//! from an older backup. The filters of one are never taken for those of the other. The same holds for columns.

use crate::backups::{back_up, restore};
use crate::support::{append, copy, copy_with, memory};
use arrow::array::{Array, ArrayRef, Int64Array, RecordBatch};
use atsdb_archive::{Archive, BackupSelector};
use atsdb_core::{Change, ColumnId, ColumnType, ErrorKind, Redefinition, TableDefinition, Value};
use atsdb_engine::{Comparison, CopyOptions, Engine, Predicate, ScanRequest};
use std::ops::Range;
use std::sync::Arc;

/// The values of each column. No value is in both.
const COLUMNS: [(&str, Range<i64>); 2] = [("a", 0..20), ("b", 100..120)];

fn fill(engine: &Engine) {
    let definition = COLUMNS.iter().fold(TableDefinition::new("t"), |definition, (name, _)| {
        definition.with_column(*name, ColumnType::Int64, None)
    });
    let table = engine.create_table(&definition).unwrap();
    append(engine, &table, &rows());
}

fn rows() -> RecordBatch {
    let columns = COLUMNS.map(|(name, values)| (name, Arc::new(Int64Array::from_iter_values(values)) as ArrayRef));
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Gives the table another definition, as another process does.
fn redefine(engine: &Engine, change: impl FnOnce(&mut TableDefinition)) {
    let table = engine.table("t").unwrap();
    let mut to = table.definition.clone();
    change(&mut to);
    let redefine = vec![Redefinition { table: table.id, from: table.definition, to }];
    engine.store().commit(&[Change { redefine, ..Change::default() }], 0).unwrap().remove(0).unwrap();
}

/// Declares an index over one column, and builds it.
fn add_index(engine: &Engine, column: u16) {
    redefine(engine, |to| drop(to.add_index(None, vec![ColumnId(column)])));
    let table = engine.table("t").unwrap();
    engine.build_index(&table, table.definition.indexes.last().unwrap()).unwrap();
}

/// Makes the target as the source is, with all numbers that were given there.
fn overwrite(source: &Engine, target: &Engine) {
    copy_with(source, target, &CopyOptions { overwrite: true, ..CopyOptions::default() }).unwrap();
}

/// Returns the number of values of a column that are found.
fn found(engine: &Engine, column: usize) -> usize {
    let (table, snapshot) = (engine.table("t").unwrap(), engine.snapshot().unwrap());
    let rows_with = |value: i64| {
        let predicates = vec![Predicate::new(column, Comparison::Equal, Value::Int(value))];
        let request = ScanRequest { predicates, use_cache: true, ..ScanRequest::all(&table) };
        let batches = snapshot.scan(&table, &request).unwrap().batches();
        batches.map(|rows| rows.unwrap().num_rows()).sum::<usize>()
    };
    COLUMNS[column].1.clone().map(rows_with).sum()
}

#[test]
fn a_backup_has_the_filters_of_its_own_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::open(folder.path().join("backups").to_str().unwrap()).unwrap();
    let store = memory();
    fill(&store);
    let before = back_up(&store, &archive, None).unwrap();
    add_index(&store, 0);
    back_up(&store, &archive, None).unwrap();
    let restored = memory();
    restore(&archive, &BackupSelector::Id(before.id), &restored).unwrap();
    add_index(&restored, 1);
    assert_eq!(found(&restored, 1), 20);
    let after = back_up(&restored, &archive, None).unwrap();
    assert!(archive.verify().unwrap().findings.is_empty());
    let target = memory();
    restore(&archive, &BackupSelector::Id(after.id), &target).unwrap();
    assert_eq!(found(&target, 1), 20);
    assert!(target.verify(None).unwrap().findings.is_empty());
}

#[test]
fn a_process_that_has_used_an_index_does_not_take_its_filters_for_those_of_another() {
    let (source, target) = (memory(), memory());
    fill(&source);
    copy(&source, &target).unwrap();
    add_index(&target, 0);
    assert_eq!(found(&target, 0), 20);
    // The table is as it was before, with the same chunks.
    overwrite(&source, &target);
    add_index(&target, 1);
    assert_eq!(found(&target, 1), 20);
}

#[test]
fn rows_that_wait_while_a_copy_replaces_their_table_are_not_added_to_it() {
    let (source, target) = (memory(), memory());
    fill(&source);
    copy(&source, &target).unwrap();
    add_index(&target, 0);
    let mut batch = target.batch(None);
    batch.append(&target.table("t").unwrap(), &rows()).unwrap();
    overwrite(&source, &target);
    // It has the number of the other one, of which the rows would have a filter.
    add_index(&target, 1);
    assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(found(&target, 1), 20);
}

#[test]
fn a_column_does_not_get_the_default_of_another_one_with_its_number() {
    let (source, target) = (memory(), memory());
    fill(&source);
    copy(&source, &target).unwrap();
    let add_column = |name: &str, default: Option<Value>| {
        redefine(&target, |to| {
            *to = to.clone().with_column(name, ColumnType::Int64, None);
            to.columns[2].default = default;
        });
        target.table("t").unwrap()
    };
    let held = add_column("c", Some(Value::Int(5)));
    overwrite(&source, &target);
    let table = add_column("d", None);
    assert_eq!(table.definition.columns[2].id, held.definition.columns[2].id);
    append(&target, &held, &rows());
    let scan = target.snapshot().unwrap().scan(&table, &ScanRequest::all(&table)).unwrap();
    let nulls: usize = scan.batches().map(|rows| rows.unwrap().column(2).null_count()).sum();
    assert_eq!(nulls, 40);
}
