//! The list of tables that snapshots see.

use crate::support::{engine, readings, sqlite};
use atsdb_core::{ColumnType, TableDefinition};
use atsdb_engine::{Engine, SystemEnvironment};

fn names(engine: &Engine) -> Vec<String> {
    engine.snapshot().unwrap().tables().iter().map(|table| table.definition.name.clone()).collect()
}

#[test]
fn a_list_is_shared_until_any_process_changes_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let (own, other) = (engine(sqlite(&path), SystemEnvironment), engine(sqlite(&path), SystemEnvironment));
    let table = own.create_table(&readings()).unwrap();
    let (first, second) = (own.snapshot().unwrap(), own.snapshot().unwrap());
    assert_eq!(first.tables().as_ptr(), second.tables().as_ptr());
    let definition = TableDefinition::new("second").with_column("number", ColumnType::Int32, None);
    let created = other.create_table(&definition).unwrap();
    assert_eq!(names(&own), ["readings", "second"]);
    assert_eq!(names(&other), ["readings", "second"]);
    assert_eq!(first.tables().len(), 1, "a snapshot does not change");
    other.drop_table(&created).unwrap();
    assert_eq!(names(&own), ["readings"]);
    other.drop_table(&table).unwrap();
    other.create_table(&readings()).unwrap();
    let again = own.snapshot().unwrap();
    assert_ne!(again.tables()[0].id, table.id, "a table of the same name is another one");
}
