//! Materialized views: only a refresh changes their rows, and of two refreshes at the same time one is a conflict.

use crate::support::engines;
use arrow::array::{ArrayRef, AsArray, Int32Array, RecordBatch};
use arrow::datatypes::Int32Type;
use atsdb_core::{ColumnType, ErrorKind, MaterializedView, Table, TableDefinition};
use atsdb_engine::{Engine, ReadSnapshot, ScanRequest};
use std::sync::Arc;

fn definition(populated: bool) -> TableDefinition {
    let mut definition = TableDefinition::new("m").with_column("a", ColumnType::Int32, None);
    definition.materialized = Some(MaterializedView::new("SELECT 1 AS a", populated));
    definition
}

fn rows(values: &[i32]) -> RecordBatch {
    let array: ArrayRef = Arc::new(Int32Array::from(values.to_vec()));
    RecordBatch::try_from_iter_with_nullable([("a", array, true)]).unwrap()
}

fn values(snapshot: &ReadSnapshot, table: &Table) -> Vec<i32> {
    let scan = snapshot.scan(table, &ScanRequest::all(table)).unwrap();
    let batches = scan.batches().map(Result::unwrap);
    let mut values: Vec<i32> =
        batches.flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().values().to_vec()).collect();
    values.sort_unstable();
    values
}

fn stored(engine: &Engine) -> Vec<i32> {
    let snapshot = engine.snapshot().unwrap();
    values(&snapshot, snapshot.table("m").unwrap())
}

#[test]
fn a_refresh_replaces_all_rows_at_once() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&definition(false)).unwrap();
        assert!(engine.table("m").unwrap().definition.is_unpopulated());
        let mut batch = engine.batch(None);
        let refilled = batch.refill(&table, true).unwrap();
        batch.append(&refilled, &rows(&[1, 2])).unwrap();
        batch.commit().unwrap();
        assert_eq!((stored(&engine), engine.table("m").unwrap().definition.is_unpopulated()), (vec![1, 2], false));

        let before = engine.snapshot().unwrap();
        let mut batch = engine.batch(None);
        for others in [&[3][..], &[4, 5, 6]] {
            let table = batch.tables().unwrap().remove(0);
            let refilled = batch.refill(&table, true).unwrap();
            batch.append(&refilled, &rows(others)).unwrap();
        }
        assert_eq!(stored(&engine), [1, 2]);
        batch.commit().unwrap();
        assert_eq!(stored(&engine), [4, 5, 6]);
        assert_eq!(values(&before, before.table("m").unwrap()), [1, 2]);
    }
}

#[test]
fn nothing_else_changes_the_rows() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&definition(true)).unwrap();
        let mut batch = engine.batch(None);
        for refused in [batch.append(&table, &rows(&[1])), batch.truncate(&table).map(drop)] {
            let error = refused.unwrap_err();
            assert_eq!((error.kind(), error.message()), (ErrorKind::Sql, "cannot change materialized view \"m\""));
        }
        drop(batch);
        assert!(stored(&engine).is_empty());
    }
}

#[test]
fn of_two_refreshes_at_the_same_time_one_is_a_conflict() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&definition(true)).unwrap();
        let mut batches = [engine.batch(None), engine.batch(None)];
        for batch in &mut batches {
            let refilled = batch.refill(&table, true).unwrap();
            batch.append(&refilled, &rows(&[1, 2])).unwrap();
        }
        let [first, second] = batches;
        first.commit().unwrap();
        assert_eq!(second.commit().unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(stored(&engine), [1, 2]);
    }
}

#[test]
fn a_batch_fills_the_view_that_it_creates() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut batch = engine.batch(None);
        let table = batch.create_table(&definition(true)).unwrap();
        batch.append(&table, &rows(&[1])).unwrap();
        let refilled = batch.refill(&table, true).unwrap();
        batch.append(&refilled, &rows(&[2])).unwrap();
        let refilled = batch.refill(&refilled, false).unwrap();
        assert!(refilled.definition.is_unpopulated());
        let refilled = batch.refill(&refilled, true).unwrap();
        batch.append(&refilled, &rows(&[3])).unwrap();
        batch.commit().unwrap();
        assert_eq!(stored(&engine), [3]);
    }
}
