//! Foreign keys whose tables get other definitions: names, types and the foreign keys themselves change while rows are
//! checked, in the same batch.

use crate::support::{self, engines};
use arrow::array::{ArrayRef, Int32Array, RecordBatch};
use atsdb_core::{ColumnType, ErrorKind, ForeignKey, QualifiedName, Result, Table, TableDefinition, Unique};
use atsdb_engine::{Batch, Engine, ScanRequest, SystemEnvironment};
use std::sync::Arc;

fn parents() -> TableDefinition {
    let mut definition = TableDefinition::new("parents").with_column("id", ColumnType::Int32, None);
    definition.unique.push(Unique::new(vec![definition.columns[0].id]));
    definition
}

/// Children with this number of foreign keys, all of which refer to the parents' column.
fn children(key_count: usize) -> TableDefinition {
    let mut definition = TableDefinition::new("children");
    for at in 0..key_count {
        definition = definition.with_column(format!("parent{at}"), ColumnType::Int32, None);
        let parent = QualifiedName { schema: None, name: "parents".to_owned() };
        let columns = vec![definition.columns[at].id];
        definition.foreign_keys.push(ForeignKey::new(format!("key{at}"), columns, parent, vec!["id".to_owned()]));
    }
    definition
}

/// A row with these values.
fn row(definition: &TableDefinition, values: &[i32]) -> RecordBatch {
    let column = |value: &i32| -> ArrayRef { Arc::new(Int32Array::from(vec![*value])) };
    let names = definition.columns.iter().map(|column| column.name.as_str());
    RecordBatch::try_from_iter(names.zip(values.iter().map(column))).unwrap()
}

fn committed(engine: &Engine, work: impl FnOnce(&mut Batch) -> Result<()>) -> Result<()> {
    let mut batch = engine.batch(None);
    work(&mut batch)?;
    batch.commit_unrepeated().map(drop)
}

fn add(engine: &Engine, table: &Table, values: &[i32]) -> Result<()> {
    committed(engine, |batch| batch.append(table, &row(&table.definition, values)))
}

/// Removes all rows, as a statement.
fn empty(batch: &mut Batch, table: &Table) -> Result<()> {
    batch.truncate(table)?;
    batch.end_statement()
}

fn row_count(engine: &Engine, name: &str) -> u64 {
    let snapshot = engine.snapshot().unwrap();
    let table = snapshot.table(name).unwrap();
    let scan = snapshot.scan(table, &ScanRequest::all(table)).unwrap();
    scan.chunks().iter().map(|chunk| u64::from(chunk.entry.row_count)).sum()
}

/// The tables, one parent with the key 1, and an engine of another process.
fn both(engine: &Engine, key_count: usize) -> (Engine, Table, Table) {
    let other = support::engine(Arc::clone(engine.store()), SystemEnvironment);
    engine.create_table(&parents()).unwrap();
    let child = engine.create_table(&children(key_count)).unwrap();
    // The foreign keys have given the parent another version.
    let parent = engine.table("parents").unwrap();
    add(engine, &parent, &[1]).unwrap();
    (other, parent, child)
}

fn drop_all(engine: &Engine) {
    let tables = engine.tables().unwrap();
    committed(engine, |batch| batch.drop_tables(&tables)).unwrap();
}

#[test]
fn all_foreign_keys_to_a_parent_get_its_new_names() {
    let (_folder, engines) = engines();
    for engine in engines {
        let (_, parent, child) = both(&engine, 3);
        let mut renamed = parent.definition.clone();
        renamed.name = "elders".to_owned();
        renamed.columns[0].name = "number".to_owned();
        committed(&engine, |batch| batch.redefine(&parent, renamed).map(drop)).unwrap();
        let child = engine.snapshot().unwrap().table_by_id(child.id).unwrap().clone();
        for key in &child.definition.foreign_keys {
            assert_eq!((key.parent.name.as_str(), key.parent_columns[0].as_str()), ("elders", "number"));
        }
        add(&engine, &child, &[1, 1, 1]).unwrap();
        for values in [[2, 1, 1], [1, 2, 1], [1, 1, 2]] {
            assert_eq!(add(&engine, &child, &values).unwrap_err().kind(), ErrorKind::ForeignKeyViolation);
        }
    }
}

#[test]
fn a_row_that_another_writer_adds_needs_its_parent_under_the_present_names_and_types() {
    type Alter = fn(&mut TableDefinition);
    let of_parent: [Alter; 3] = [
        |parent| parent.name = "elders".to_owned(),
        |parent| parent.columns[0].name = "number".to_owned(),
        |parent| parent.columns[0].column_type = ColumnType::Int64,
    ];
    let of_child: [Alter; 4] = [
        |child| child.name = "offspring".to_owned(),
        |child| child.columns[0].name = "elder".to_owned(),
        |child| child.columns[0].column_type = ColumnType::Int64,
        |child| child.foreign_keys[0].name = "renamed".to_owned(),
    ];
    let all = of_parent.map(|alter| (true, alter)).into_iter().chain(of_child.map(|alter| (false, alter)));
    let (_folder, engines) = engines();
    for engine in engines {
        for (at, (is_of_parent, alter)) in all.clone().enumerate() {
            let (other, parent, child) = both(&engine, 1);
            let mut batch = engine.batch(None);
            empty(&mut batch, &parent).unwrap();
            let present = batch.tables().unwrap();
            let altered = if is_of_parent { &parent } else { &child };
            let altered = present.iter().find(|table| table.id == altered.id).unwrap();
            let mut to = altered.definition.clone();
            alter(&mut to);
            batch.redefine(altered, to).unwrap();
            add(&other, &child, &[1]).unwrap();
            let refused = batch.commit_unrepeated().unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ForeignKeyViolation, "alteration {at}: {refused}");
            assert_eq!((row_count(&engine, "parents"), row_count(&engine, "children")), (1, 1));
            drop_all(&engine);
        }
    }
}

#[test]
fn keys_that_are_gone_do_not_matter_to_a_foreign_key_that_is_gone() {
    let (_folder, engines) = engines();
    for engine in engines {
        let (other, parent, child) = both(&engine, 1);
        let mut batch = engine.batch(None);
        empty(&mut batch, &parent).unwrap();
        let without = TableDefinition { foreign_keys: Vec::new(), ..child.definition.clone() };
        batch.redefine(&child, without).unwrap();
        add(&other, &child, &[1]).unwrap();
        batch.commit().unwrap();
        assert_eq!((row_count(&engine, "parents"), row_count(&engine, "children")), (0, 1));
    }
}

#[test]
fn a_foreign_key_that_is_dropped_and_added_again_holds_for_what_others_do_meanwhile() {
    let (_folder, engines) = engines();
    for engine in engines {
        for deletes in [true, false] {
            let (other, parent, child) = both(&engine, 1);
            let mut batch = engine.batch(None);
            let without = TableDefinition { foreign_keys: Vec::new(), ..child.definition.clone() };
            let unreferring = batch.redefine(&child, without).unwrap();
            if deletes {
                empty(&mut batch, &parent).unwrap();
            } else {
                batch.append(&unreferring, &row(&child.definition, &[1])).unwrap();
                batch.end_statement().unwrap();
            }
            batch.redefine(&unreferring, child.definition.clone()).unwrap();
            // The other writer knows the foreign key, and sees nothing that forbids this.
            if deletes {
                add(&other, &child, &[1]).unwrap();
            } else {
                committed(&other, |batch| empty(batch, &parent)).unwrap();
            }
            let refused = batch.commit_unrepeated().unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ForeignKeyViolation, "deletes {deletes}: {refused}");
            let left = if deletes { (1, 1) } else { (0, 0) };
            assert_eq!((row_count(&engine, "parents"), row_count(&engine, "children")), left);
            drop_all(&engine);
        }
    }
}

#[test]
fn rows_that_were_added_under_other_names_are_looked_up() {
    let (_folder, engines) = engines();
    for engine in engines {
        for first in [1, 9] {
            let (_, _, child) = both(&engine, 1);
            let mut batch = engine.batch(None);
            batch.append(&child, &row(&child.definition, &[first])).unwrap();
            let mut renamed = child.definition.clone();
            renamed.columns[0].name = "elder".to_owned();
            committed(&engine, |batch| batch.redefine(&child, renamed).map(drop)).unwrap();
            let present = engine.table("children").unwrap();
            batch.append(&present, &row(&present.definition, &[1])).unwrap();
            let done = batch.commit().map(drop);
            let expected = (first == 9).then_some(ErrorKind::ForeignKeyViolation);
            assert_eq!(done.as_ref().err().map(atsdb_core::Error::kind), expected, "{done:?}");
            assert_eq!(row_count(&engine, "children"), if first == 9 { 0 } else { 2 });
            drop_all(&engine);
        }
    }
}

#[test]
fn a_batch_that_could_rename_a_parent_but_not_its_child_is_not_committed() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut batch = engine.batch(None);
        let parent = batch.create_table(&parents()).unwrap();
        let child = batch.create_table(&children(1)).unwrap();
        let none: ArrayRef = Arc::new(Int32Array::from(vec![None::<i32>]));
        let rows = RecordBatch::try_from_iter_with_nullable([("parent0", none, true)]).unwrap();
        batch.append(&child, &rows).unwrap();
        batch.end_statement().unwrap();
        let parent = batch.tables().unwrap().into_iter().find(|table| table.id == parent.id).unwrap();
        let mut renamed = parent.definition.clone();
        renamed.name = "elders".to_owned();
        let refused = batch.redefine(&parent, renamed).unwrap_err();
        assert!(refused.message().contains("holds rows"), "{refused}");
        assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::Usage);
        assert!(engine.tables().unwrap().is_empty());
    }
}
