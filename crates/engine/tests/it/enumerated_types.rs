//! Enumerated types without SQL: columns take labels alone, and a type exists as long as columns have it.

use crate::support::{append, batch_of, engines, read_all, readings, row};
use atsdb_core::{Enumeration, ErrorKind, QualifiedName, Table, TableDefinition};
use atsdb_engine::{Batch, Engine};

fn mood(labels: &[&str]) -> Enumeration {
    let type_name = QualifiedName { schema: None, name: "mood".to_owned() };
    Enumeration { type_name, labels: labels.iter().map(|label| (*label).to_owned()).collect() }
}

fn entry_of(of: &Enumeration) -> TableDefinition {
    TableDefinition::new_enumeration(None, &of.type_name.name, of.labels.clone())
}

/// The definition of readings whose status is of a type.
fn readings_with(of: &Enumeration) -> TableDefinition {
    let mut definition = readings();
    (definition.columns[2].map, definition.columns[2].enumeration) = (Some(Enumeration::MAP), Some(of.clone()));
    definition
}

fn entry(batch: &mut Batch) -> Table {
    batch.entries().unwrap().remove(0)
}

fn with_table(engine: &Engine) -> Table {
    let of = mood(&["sad", "ok"]);
    engine.create_table(&entry_of(&of)).unwrap();
    engine.create_table(&readings_with(&of)).unwrap()
}

#[test]
fn a_text_that_is_no_label_is_refused_and_does_not_spoil_later_rows() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = with_table(&engine);
        assert_eq!(engine.tables().unwrap().len(), 1, "a type is no table");
        let mut batch = engine.batch(None);
        let error = batch.append(&table, &batch_of(&[row(1, "a", "sad", 1), row(2, "a", "angry", 2)])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
        assert!(error.to_string().contains("invalid input value for enum mood: \"angry\""), "{error}");
        drop(batch);
        append(&engine, &table, &[row(1, "a", "sad", 1), row(2, "a", "ok", 2)]);
        assert_eq!(read_all(&engine, &table).unwrap(), [row(1, "a", "sad", 1), row(2, "a", "ok", 2)]);
    }
}

#[test]
fn a_type_is_not_dropped_beside_a_table_that_is_created_with_it() {
    let (_folder, engines) = engines();
    for engine in engines {
        let of = mood(&["sad", "ok"]);
        engine.create_table(&entry_of(&of)).unwrap();
        let mut dropping = engine.batch(None);
        let own = entry(&mut dropping);
        dropping.drop_table(&own).unwrap();
        engine.create_table(&readings_with(&of)).unwrap();
        assert_eq!(dropping.commit().unwrap_err().kind(), ErrorKind::Conflict);
    }
}

#[test]
fn a_column_has_the_labels_of_its_type() {
    let (_folder, engines) = engines();
    for engine in engines {
        engine.create_table(&entry_of(&mood(&["sad", "ok"]))).unwrap();
        let error = engine.create_table(&readings_with(&mood(&["sad"]))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    }
}
