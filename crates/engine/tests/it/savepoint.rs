//! Savepoints in a batch: rolling back to one removes all later changes and no earlier ones, whether rows are in memory
//! or staged.

use crate::support::engines;
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use atsdb_core::{ChunkId, ColumnType, ErrorKind, Rollup, RollupState, Table, TableDefinition, TimeUnit};
use atsdb_engine::{Batch, Engine, ReadSnapshot, ScanRequest};
use std::sync::Arc;

fn definition() -> TableDefinition {
    TableDefinition::new("t").with_column("n", ColumnType::Int64, None).with_column("s", ColumnType::Text, None)
}

/// Rows of a kilobyte each, which do not compress.
fn rows(numbers: std::ops::Range<i64>) -> RecordBatch {
    let mut state = numbers.start as u64 | 1;
    let mut text = || {
        let digits = (0..128).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            format!("{:08x}", state >> 32)
        });
        digits.collect::<String>()
    };
    let texts: StringArray = numbers.clone().map(|_| Some(text())).collect();
    let numbers: Int64Array = numbers.map(Some).collect();
    RecordBatch::try_from_iter([("n", Arc::new(numbers) as ArrayRef), ("s", Arc::new(texts) as ArrayRef)]).unwrap()
}

fn count(snapshot: &ReadSnapshot) -> u64 {
    let table = snapshot.table("t").unwrap();
    snapshot.scan(table, &ScanRequest::all(table)).unwrap().batches().map(|rows| rows.unwrap().num_rows() as u64).sum()
}

/// Creates a table with one row, and returns a batch of which most rows are written ahead.
fn batch_with_savepoint(engine: &Engine) -> Batch {
    let table = engine.create_table(&definition()).unwrap();
    let mut first = engine.batch(None);
    first.append(&table, &rows(0..1)).unwrap();
    first.commit().unwrap();
    let mut batch = engine.batch(None);
    (0..10).for_each(|step| batch.append(&table, &rows(step * 4_000 + 1..step * 4_000 + 4_001)).unwrap());
    batch.savepoint("one").unwrap();
    batch
}

/// Gives a table a rollup, and so a log of its changes.
fn add_rollup(engine: &Engine, source: &Table) {
    let state = RollupState::new(ChunkId(0));
    let (table, every, query) = ("t".into(), "1 hour".into(), "SELECT".into());
    let rollup = Rollup { source: source.id, schema: None, table, every, query, state };
    let definition = TableDefinition::new("r").with_column("time", ColumnType::Timestamp(TimeUnit::Second), None);
    let definition = definition.with_time("time", TimeUnit::Second).unwrap();
    let mut batch = engine.batch(None);
    batch.create_rollup(source, TableDefinition { rollup: Some(rollup), ..definition }).unwrap();
    batch.commit().unwrap();
}

#[test]
fn changes_after_a_savepoint_are_rolled_back_wherever_they_are() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut batch = batch_with_savepoint(&engine);
        let table = engine.table("t").unwrap();
        assert_eq!(batch.truncate(&table).unwrap(), 40_001);
        batch.append(&table, &rows(50_000..80_000)).unwrap();
        batch.create_table(&TableDefinition { name: "u".into(), ..definition() }).unwrap();
        assert_eq!(count(&batch.snapshot().unwrap()), 30_000);
        batch.savepoint("two").unwrap();
        batch.append(&table, &rows(90_000..90_010)).unwrap();
        assert_eq!(batch.rollback_to_savepoint("TWO").unwrap(), 2);
        assert_eq!(count(&batch.snapshot().unwrap()), 30_000);
        assert_eq!(batch.rollback_to_savepoint("one").unwrap(), 1);
        assert_eq!(count(&batch.snapshot().unwrap()), 40_001);
        assert_eq!(batch.row_count(), 40_000);
        assert!(batch.snapshot().unwrap().table("u").is_err());
        assert_eq!(batch.rollback_to_savepoint("two").unwrap_err().kind(), ErrorKind::Sql);
        batch.append(&table, &rows(60_000..60_001)).unwrap();
        batch.commit().unwrap();
        assert_eq!(count(&engine.snapshot().unwrap()), 40_002);
        let report = engine.verify(None).unwrap();
        assert!(report.findings.is_empty(), "{report:?}");
    }
}

#[test]
fn a_rollback_to_a_savepoint_before_the_first_read_keeps_the_state_that_was_read() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&definition()).unwrap();
        let mut batch = engine.batch(None);
        batch.append(&table, &rows(0..1)).unwrap();
        batch.savepoint("one").unwrap();
        batch.append(&table, &rows(1..3)).unwrap();
        assert_eq!(count(&batch.snapshot().unwrap()), 3);
        let mut other = engine.batch(None);
        other.append(&table, &rows(10..20)).unwrap();
        other.commit().unwrap();
        batch.rollback_to_savepoint("one").unwrap();
        assert_eq!(count(&batch.snapshot().unwrap()), 1);
        batch.commit().unwrap();
        assert_eq!(count(&engine.snapshot().unwrap()), 11);
    }
}

#[test]
fn a_batch_sees_no_later_state_than_a_savepoint_that_it_may_return_to() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&definition()).unwrap();
        let mut batch = engine.batch(None);
        // The batch has read the store, but no rows.
        batch.tables().unwrap();
        batch.savepoint("one").unwrap();
        let mut other = engine.batch(None);
        other.append(&table, &rows(0..1)).unwrap();
        other.commit().unwrap();
        batch.refresh();
        let before = count(&batch.snapshot().unwrap());
        batch.rollback_to_savepoint("one").unwrap();
        assert_eq!(count(&batch.snapshot().unwrap()), before);
    }
}

#[test]
fn rows_hidden_before_a_savepoint_are_removed_by_the_commit() {
    let (_folder, engines) = engines();
    for engine in engines {
        for is_released in [true, false] {
            let mut batch = batch_with_savepoint(&engine);
            let table = engine.table("t").unwrap();
            batch.truncate(&table).unwrap();
            batch.append(&table, &rows(50_000..50_007)).unwrap();
            if is_released {
                assert_eq!(batch.release_savepoint("one").unwrap(), 0);
                batch.truncate(&table).unwrap();
                batch.append(&table, &rows(50_000..50_007)).unwrap();
            }
            batch.commit().unwrap();
            assert_eq!(count(&engine.snapshot().unwrap()), 7);
            assert!(engine.verify(None).unwrap().findings.is_empty());
            engine.drop_table(&table).unwrap();
        }
    }
}

#[test]
fn the_log_of_changes_before_a_savepoint_is_committed_once() {
    let (_folder, engines) = engines();
    for engine in engines {
        add_rollup(&engine, &engine.create_table(&definition()).unwrap());
        let table = engine.table("t").unwrap();
        let mut first = engine.batch(None);
        first.append(&table, &rows(0..1)).unwrap();
        first.commit().unwrap();
        let mut batch = engine.batch(None);
        assert_eq!(batch.truncate(&table).unwrap(), 1);
        batch.savepoint("one").unwrap();
        // So many rows that they are written ahead, and the entry of the log with them.
        (0..10).for_each(|step| batch.append(&table, &rows(step * 4_000 + 1..step * 4_000 + 4_001)).unwrap());
        batch.savepoint("two").unwrap();
        batch.rollback_to_savepoint("one").unwrap();
        batch.commit().unwrap();
        let snapshot = engine.snapshot().unwrap();
        assert_eq!(count(&snapshot), 0);
        let rollup = snapshot.table("r").unwrap().definition.rollup.clone().unwrap();
        assert_eq!(snapshot.log_length(&rollup).unwrap(), 1);
    }
}
