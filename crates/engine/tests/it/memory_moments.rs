//! Tables in memory beside other processes and other batches: the definitions that their rows are committed under, and
//! the moment that a batch sees them at.

use crate::support::{engine, redefine};
use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use atsdb_core::{ColumnType, CommitOutcome, ErrorKind, InMemory, Store, Table, TableDefinition};
use atsdb_engine::{Batch, Engine, ScanRequest, SystemEnvironment};
use atsdb_memory::MemoryStore;
use std::sync::Arc;

/// Columns: id, n.
fn counts() -> TableDefinition {
    let mut definition = TableDefinition::new("counts").with_column("id", ColumnType::Int64, None).with_column(
        "n",
        ColumnType::Int64,
        None,
    );
    definition.memory = Some(InMemory::default());
    definition
}

/// One row without an `n`.
fn row(id: i64) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(Int64Array::from(vec![id])) as ArrayRef, true),
        ("n", Arc::new(Int64Array::from(vec![None::<i64>])), true),
    ])
    .unwrap()
}

fn append(engine: &Engine, tables: &[&Table], id: i64) {
    let mut batch = engine.batch(None);
    for table in tables {
        batch.append(table, &row(id)).unwrap();
    }
    batch.commit().unwrap();
}

fn rows(engine: &Engine, table: &Table) -> usize {
    engine.snapshot().unwrap().resident(table).unwrap().row_count()
}

/// The rows of a table in memory and of a stored one, as a batch sees them.
fn seen(batch: &mut Batch, memory: &Table, stored: &Table) -> (u64, u64) {
    let snapshot = batch.snapshot().unwrap();
    let rows = snapshot.scan(stored, &ScanRequest::all(stored)).unwrap().row_count_exact().unwrap();
    (snapshot.resident(memory).unwrap().row_count() as u64, rows)
}

fn two_processes() -> (Engine, Engine) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    (engine(Arc::clone(&store), SystemEnvironment), engine(store, SystemEnvironment))
}

#[test]
fn rows_that_another_processs_definition_forbids_are_refused() {
    let (own, other) = two_processes();
    let table = own.create_table(&counts()).unwrap();
    let mut batch = own.batch(None);
    batch.append(&table, &row(1)).unwrap();
    let mut strict = table.definition.clone();
    strict.columns[1].nullable = false;
    let strict = redefine(&other, &table, strict).unwrap();
    assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::Conflict);
    // Had they been committed, no row of the table could be read in this process.
    assert_eq!(rows(&own, &strict), 0);
}

#[test]
fn rows_that_another_processs_definition_takes_are_kept() {
    let (own, other) = two_processes();
    let table = own.create_table(&counts()).unwrap();
    let mut batch = own.batch(None);
    batch.append(&table, &row(1)).unwrap();
    let wider = redefine(&other, &table, table.definition.clone().with_column("note", ColumnType::Text, None)).unwrap();
    assert_eq!(batch.commit().unwrap(), CommitOutcome::Committed);
    assert_eq!(rows(&own, &wider), 1);
}

#[test]
fn changed_rows_are_refused_once_another_process_has_changed_the_definition() {
    let (own, other) = two_processes();
    let table = own.create_table(&counts()).unwrap();
    append(&own, &[&table], 1);
    let mut batch = own.batch(None);
    assert_eq!(batch.truncate(&table).unwrap(), 1);
    let wider = redefine(&other, &table, table.definition.clone().with_column("note", ColumnType::Text, None)).unwrap();
    assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(rows(&own, &wider), 1);
}

#[test]
fn rows_are_refused_once_another_process_has_dropped_their_table() {
    let (own, other) = two_processes();
    let table = own.create_table(&counts()).unwrap();
    append(&own, &[&table], 1);
    let mut batch = own.batch(None);
    batch.append(&table, &row(2)).unwrap();
    other.drop_table(&table).unwrap();
    assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_batch_that_reads_after_it_has_added_rows_sees_all_tables_at_one_moment() {
    let (engine, _) = two_processes();
    let memory = engine.create_table(&counts()).unwrap();
    let stored = TableDefinition { memory: None, name: "stored".into(), ..counts() };
    let stored = engine.create_table(&stored).unwrap();
    append(&engine, &[&memory, &stored], 1);
    let mut batch = engine.batch(None);
    batch.append(&memory, &row(2)).unwrap();
    batch.savepoint("before").unwrap();
    append(&engine, &[&memory, &stored], 3);
    assert_eq!(seen(&mut batch, &memory, &stored), (3, 2), "the rows 1 and 3 are in both");
    append(&engine, &[&memory, &stored], 4);
    assert_eq!(seen(&mut batch, &memory, &stored), (3, 2), "the moment stays");
    batch.append(&memory, &row(5)).unwrap();
    batch.rollback_to_savepoint("before").unwrap();
    assert_eq!(seen(&mut batch, &memory, &stored), (3, 2), "the rollback has undone row 5 and no other");
    batch.commit().unwrap();
    assert_eq!(rows(&engine, &memory), 4);
}

#[test]
fn a_batch_that_adds_rows_before_others_are_saved_sees_both() {
    let (own, other) = two_processes();
    let table = own.create_table(&counts()).unwrap();
    let mut batch = own.batch(None);
    batch.append(&table, &row(1)).unwrap();
    append(&other, &[&table], 2);
    other.save_resident(std::slice::from_ref(&table)).unwrap();
    assert_eq!(batch.snapshot().unwrap().resident(&table).unwrap().row_count(), 2);
    batch.commit().unwrap();
    assert_eq!(rows(&own, &table), 2);
}
