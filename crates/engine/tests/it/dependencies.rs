//! Definitions that refer to others: tables in schemas, and columns with the numbers of sequences. In any order of
//! commits of two batches, the definitions that one refers to exist, and batches that refer to the same definition do
//! not disturb each other.

use crate::support::engines;
use arrow::array::{ArrayRef, AsArray, Int32Array, RecordBatch};
use arrow::datatypes::Int64Type;
use atsdb_core::{ColumnType, Error, ErrorKind, Identity, QualifiedName, Table, TableDefinition};
use atsdb_engine::{Batch, Engine, ScanRequest};
use std::sync::Arc;

fn table_in_schema(name: &str) -> TableDefinition {
    TableDefinition::new_in(Some("s"), name).with_column("a", ColumnType::Int32, None)
}

fn create_schema(engine: &Engine) {
    engine.create_table(&TableDefinition::new_schema("s")).unwrap();
}

fn entry(batch: &mut Batch) -> Table {
    batch.entries().unwrap().remove(0)
}

fn conflict(batch: Batch) -> Error {
    let error = batch.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    error
}

/// The names of the schemas that have an entry.
fn entries(engine: &Engine) -> Vec<String> {
    let entries = engine.batch(None).entries().unwrap();
    entries.into_iter().filter_map(|entry| entry.definition.schema).collect()
}

#[test]
fn a_schema_is_not_dropped_or_renamed_beside_a_table_that_is_created_in_it() {
    let (_folder, engines) = engines();
    for engine in engines {
        create_schema(&engine);
        let (mut dropping, mut renaming) = (engine.batch(None), engine.batch(None));
        let schema = entry(&mut dropping);
        dropping.drop_table(&schema).unwrap();
        renaming.redefine(&schema, TableDefinition::new_schema("r")).unwrap();
        engine.create_table(&table_in_schema("t")).unwrap();
        for batch in [dropping, renaming] {
            conflict(batch);
        }
        assert_eq!(entries(&engine), ["s"]);
        // The table was seen now.
        let mut batch = engine.batch(None);
        batch.drop_table(&engine.table("s.t").unwrap()).unwrap();
        let schema = entry(&mut batch);
        batch.drop_table(&schema).unwrap();
        batch.commit().unwrap();
        assert!(engine.schemas().unwrap().is_empty());
    }
}

#[test]
fn a_schema_is_not_dropped_beside_a_table_that_moves_into_it() {
    let (_folder, engines) = engines();
    for engine in engines {
        create_schema(&engine);
        let table = engine.create_table(&TableDefinition::new("t").with_column("a", ColumnType::Int32, None)).unwrap();
        let mut dropping = engine.batch(None);
        let schema = entry(&mut dropping);
        dropping.drop_table(&schema).unwrap();
        let mut moving = engine.batch(None);
        moving.redefine(&table, table_in_schema("t")).unwrap();
        moving.commit().unwrap();
        conflict(dropping);
        assert_eq!(entries(&engine), ["s"]);
    }
}

#[test]
fn no_table_is_created_in_a_schema_that_was_dropped_or_renamed() {
    let (_folder, engines) = engines();
    for engine in engines {
        for renames in [false, true] {
            create_schema(&engine);
            let mut creating = engine.batch(None);
            creating.create_table(&table_in_schema("t")).unwrap();
            let mut batch = engine.batch(None);
            let schema = entry(&mut batch);
            if renames {
                batch.redefine(&schema, TableDefinition::new_schema("r")).unwrap();
            } else {
                batch.drop_table(&schema).unwrap();
            }
            batch.commit().unwrap();
            let error = conflict(creating);
            assert!(error.to_string().contains("the schema s"), "{error}");
            assert!(engine.tables().unwrap().is_empty());
        }
        assert_eq!(engine.schemas().unwrap(), ["r"]);
    }
}

#[test]
fn tables_are_created_in_one_schema_at_the_same_time() {
    let (_folder, engines) = engines();
    for engine in engines {
        create_schema(&engine);
        let batches = ["t", "u", "v"].map(|name| {
            let mut batch = engine.batch(None);
            batch.create_table(&table_in_schema(name)).unwrap();
            batch
        });
        for batch in batches {
            batch.commit().unwrap();
        }
        let names: Vec<String> = engine.tables().unwrap().into_iter().map(|table| table.definition.name).collect();
        assert_eq!(names, ["s.t", "s.u", "s.v"]);
        // Two tables with the same name are one too many.
        let twins = [(); 2].map(|()| {
            let mut batch = engine.batch(None);
            batch.create_table(&table_in_schema("w")).unwrap();
            batch
        });
        let kinds = twins.map(|batch| batch.commit().err().map(|error| error.kind()));
        assert_eq!(kinds, [None, Some(ErrorKind::Exists)]);
    }
}

#[test]
fn columns_begin_to_take_numbers_of_one_sequence_at_the_same_time() {
    let (_folder, engines) = engines();
    for engine in engines {
        let sequence = TableDefinition::new_sequence("q", ColumnType::Int64, Identity::by_default());
        engine.create_table(&sequence).unwrap();
        let numbered = |name: &str| {
            let definition = TableDefinition::new(name).with_column("id", ColumnType::Int64, None);
            let mut definition = definition.with_column("a", ColumnType::Int32, None);
            definition.columns[0].sequence = Some(QualifiedName { schema: None, name: "q".to_owned() });
            definition
        };
        let batches = ["t", "u"].map(|name| {
            let mut batch = engine.batch(None);
            batch.create_table(&numbered(name)).unwrap();
            batch
        });
        let mut dropping = engine.batch(None);
        dropping.drop_table(&engine.table("q").unwrap()).unwrap();
        for batch in batches {
            batch.commit().unwrap();
        }
        conflict(dropping);
        let mut found = Vec::new();
        for name in ["t", "u"] {
            let table = engine.table(name).unwrap();
            let mut batch = engine.batch(None);
            let values: ArrayRef = Arc::new(Int32Array::from(vec![7, 8]));
            batch.append(&table, &RecordBatch::try_from_iter([("a", values)]).unwrap()).unwrap();
            batch.commit().unwrap();
            let snapshot = engine.snapshot().unwrap();
            for rows in snapshot.scan(&table, &ScanRequest::all(&table)).unwrap().batches() {
                found.extend_from_slice(rows.unwrap().column(0).as_primitive::<Int64Type>().values());
            }
        }
        assert_eq!(found, [1, 2, 3, 4]);
    }
}

#[test]
fn the_numbers_of_a_sequence_that_the_batch_creates_are_set_and_turned() {
    let (_folder, engines) = engines();
    for engine in engines {
        let numbers = engine.session_numbers();
        let mut batch = engine.batch(None).with_numbers(&numbers);
        let identity = Identity::by_default();
        let sequence = batch.create_table(&TableDefinition::new_sequence("q", ColumnType::Int64, identity)).unwrap();
        assert_eq!(numbers.draw(&sequence, 0, 1).unwrap(), [1]);
        for number in [100, 5] {
            numbers.set(&sequence, 0, number, true).unwrap();
            assert_eq!(numbers.draw(&sequence, 0, 1).unwrap(), [number + 1]);
        }
        let mut to = sequence.definition.clone();
        to.columns[0].identity = Some(Identity { increment: 10, ..identity });
        numbers.begin_counters(&sequence, &mut to).unwrap();
        let sequence = batch.redefine(&sequence, to).unwrap();
        assert_eq!(numbers.draw(&sequence, 0, 2).unwrap(), [16, 26]);
        batch.commit().unwrap();
        assert_eq!(numbers.draw(&engine.table("q").unwrap(), 0, 1).unwrap(), [36]);
    }
}
