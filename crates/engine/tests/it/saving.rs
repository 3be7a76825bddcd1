//! Rows of tables in memory that are saved in the store: what a new process begins with, and what is not lost.

use crate::support::{engine, sqlite};
use arrow::array::{Array, ArrayRef, AsArray, Date32Array, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{Date32Type, Int32Type};
use atsdb_core::{
    Column, ColumnType, ConflictPolicy, ErrorKind, InMemory, Index, Store, Table, TableDefinition, TimeUnit, Unique,
};
use atsdb_engine::{Engine, ReadSnapshot, SystemEnvironment};
use atsdb_memory::MemoryStore;
use atsdb_resident::RowKeys;
use std::sync::Arc;

/// Columns: id (key), name (index).
fn things() -> TableDefinition {
    let mut definition = TableDefinition::new("things").with_column("id", ColumnType::Int32, None).with_column(
        "name",
        ColumnType::Text,
        None,
    );
    definition.columns[0].nullable = false;
    let ids: Vec<_> = definition.columns.iter().map(|column| column.id).collect();
    definition.unique = vec![Unique { primary: true, ..Unique::new(vec![ids[0]]) }];
    definition.indexes = vec![Index { id: definition.next_index_id(), name: "by_name".into(), columns: vec![ids[1]] }];
    definition.indexes_given = 1;
    definition.memory = Some(InMemory::default());
    definition
}

fn rows(ids: std::ops::Range<i32>) -> RecordBatch {
    let name = |id: i32| (id % 10 != 3).then(|| format!("name {}", id % 1_000));
    RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(Int32Array::from_iter_values(ids.clone())) as ArrayRef, false),
        ("name", Arc::new(ids.map(name).collect::<StringArray>()), true),
    ])
    .unwrap()
}

fn append(engine: &Engine, table: &Table, ids: std::ops::Range<i32>) {
    let mut batch = engine.batch(None);
    batch.append(table, &rows(ids)).unwrap();
    batch.commit().unwrap();
}

/// Deletes the rows with these ids.
fn delete(engine: &Engine, table: &Table, ids: std::ops::Range<i32>) {
    let mut batch = engine.batch(None);
    let state = batch.snapshot().unwrap().resident(table).unwrap();
    let keys: ArrayRef = Arc::new(Int32Array::from_iter_values(ids));
    let found = state.find(0, &RowKeys::new(&[keys]).unwrap());
    let removed: Vec<(u32, u32)> = found.parts.iter().copied().zip(found.rows.iter().copied()).collect();
    batch.change_resident(table, &state, removed, Vec::new()).unwrap();
    batch.commit().unwrap();
}

fn ids_of(snapshot: &ReadSnapshot, table: &Table) -> Vec<i32> {
    let state = snapshot.resident(table).unwrap();
    let mut ids = Vec::new();
    for (part, rows) in state.row_ranges(1 << 20) {
        let (columns, _) = state.read(part, rows, &[0]).unwrap();
        ids.extend(columns[0].as_primitive::<Int32Type>().values());
    }
    ids.sort_unstable();
    ids
}

fn ids(engine: &Engine, table: &Table) -> Vec<i32> {
    ids_of(&engine.snapshot().unwrap(), table)
}

fn range(ids: std::ops::Range<i32>) -> Vec<i32> {
    ids.collect()
}

#[test]
fn a_change_that_was_refused_halfway_is_not_committed() {
    let engine = engine(Arc::new(MemoryStore::new([7; 16])), SystemEnvironment);
    let table = engine.create_table(&things()).unwrap();
    append(&engine, &table, 0..10);
    let mut batch = engine.batch(None);
    let state = batch.snapshot().unwrap().resident(&table).unwrap();
    // A row gets the key of another one.
    let changed = vec![(rows(7..8).columns().to_vec(), 1)];
    let error = batch.change_resident(&table, &state, [(0, 3)], changed).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(ids(&engine, &table), range(0..10));
}

#[test]
fn a_process_begins_with_the_saved_rows_and_their_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let first = engine(sqlite(&path), SystemEnvironment);
    let table = first.create_table(&things()).unwrap();
    append(&first, &table, 0..300_000);
    delete(&first, &table, 100..200);
    assert_eq!(first.save_resident(std::slice::from_ref(&table)).unwrap(), 299_900);
    // Later rows are visible in this process only.
    append(&first, &table, 100..150);

    for sealed in [false, true] {
        let other = engine(sqlite(&path), SystemEnvironment);
        if sealed {
            other.recompress(Some(&table)).unwrap();
        }
        let stats = other.stats(Some(&table)).unwrap().remove(0);
        assert_eq!((stats.rows, stats.fresh_chunks == 0), (299_900, sealed), "before they are read");
        let state = other.snapshot().unwrap().resident(&table).unwrap();
        assert_eq!(state.row_count(), 299_900);
        let keys: ArrayRef = Arc::new(Int32Array::from(vec![99, 150, 299_999]));
        let found = state.find(0, &RowKeys::new(&[keys]).unwrap());
        assert_eq!(found.probes, [0, 2]);
        let names: ArrayRef = Arc::new(StringArray::from(vec!["name 7"]));
        assert_eq!(state.find(1, &RowKeys::new(&[names]).unwrap()).rows.len(), 300);
        let texts = state.gather(&found, &[1]).unwrap();
        assert_eq!(texts[0].as_string::<i32>().iter().collect::<Vec<_>>(), [Some("name 99"), Some("name 999")]);
        // Saved keys are checked for new rows.
        let mut batch = other.batch(None);
        batch.append(&table, &rows(5..6)).unwrap();
        assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::DuplicateKey);
        let report = other.verify(Some(&table)).unwrap();
        assert_eq!((report.findings.len(), report.rows), (0, 299_900));
        let stats = other.stats(Some(&table)).unwrap().remove(0);
        assert_eq!((stats.rows, stats.bytes), (299_900, state.byte_count() as u64), "once they are read");
        assert!(stats.chunks >= 3 && stats.indexes[0].chunks == 0);
    }
}

#[test]
fn changes_are_a_processs_own_until_it_saves_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let open = || engine(sqlite(&path), SystemEnvironment);
    let first = open();
    let table = first.create_table(&things()).unwrap();
    let tables = [table.clone()];
    append(&first, &table, 0..10);
    first.save_resident(&tables).unwrap();

    let second = open();
    delete(&second, &table, 0..5);
    append(&second, &table, 20..22);
    assert_eq!(ids(&first, &table), range(0..10));
    assert_eq!(ids(&open(), &table), range(0..10));
    second.save_resident(&tables).unwrap();
    let wanted = [range(5..10), range(20..22)].concat();
    assert_eq!(ids(&open(), &table), wanted);
    assert_eq!(ids(&first, &table), range(0..10), "who has begun goes on");

    // An unused table is not saved as an empty one.
    assert_eq!(open().save_resident(&tables).unwrap(), 0);
    assert_eq!(ids(&open(), &table), wanted);

    let mut batch = second.batch(None);
    assert_eq!(batch.truncate(&table).unwrap(), 7);
    batch.commit().unwrap();
    assert_eq!(ids(&open(), &table), wanted);
    second.save_resident(&tables).unwrap();
    assert_eq!(ids(&open(), &table), Vec::<i32>::new());
    assert_eq!(second.slices(&table).unwrap(), []);
}

#[test]
fn a_snapshot_that_is_older_than_the_first_use_sees_what_was_there_then() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let first = engine(Arc::clone(&store), SystemEnvironment);
    let table = first.create_table(&things()).unwrap();
    append(&first, &table, 0..10);
    first.save_resident(std::slice::from_ref(&table)).unwrap();

    let second = engine(store, SystemEnvironment);
    let before = second.snapshot().unwrap();
    append(&second, &table, 10..20);
    delete(&second, &table, 0..1);
    let after = second.snapshot().unwrap();
    assert_eq!(ids_of(&before, &table), range(0..10));
    assert_eq!(ids_of(&after, &table), range(1..20));
    assert_eq!(ids(&second, &table), range(1..20));
    // A batch adds its rows to those of the process, also if it began before another batch first used the table.
    let third = engine(Arc::clone(second.store()), SystemEnvironment);
    let mut batch = third.batch(None);
    batch.append(&table, &rows(30..31)).unwrap();
    delete(&third, &table, 5..10);
    batch.commit().unwrap();
    assert_eq!(ids(&third, &table), [range(0..5), range(30..31)].concat());
}

#[test]
fn each_snapshot_begins_with_the_rows_that_were_saved_at_its_moment() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let first = engine(Arc::clone(&store), SystemEnvironment);
    let table = first.create_table(&things()).unwrap();
    let second = engine(store, SystemEnvironment);
    let mut moments = Vec::new();
    for round in 1..4 {
        append(&first, &table, round * 10..round * 10 + 10);
        first.save_resident(std::slice::from_ref(&table)).unwrap();
        moments.push(second.snapshot().unwrap());
    }
    let states: Vec<_> = moments.iter().map(|moment| moment.resident(&table).unwrap()).collect();
    for (moment, last) in moments.iter().zip([20, 30, 40]) {
        assert_eq!(ids_of(moment, &table), range(10..last));
    }
    // The process continues with the rows that were read first.
    assert_eq!(ids(&second, &table), range(10..20));
    drop(states);
}

#[test]
fn rows_of_many_chunks_are_all_read() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let first = engine(Arc::clone(&store), SystemEnvironment);
    let definition = TableDefinition::new("days").with_column("day", ColumnType::Date, None);
    let mut definition = definition.with_time("day", TimeUnit::Second).unwrap();
    definition.memory = Some(InMemory::default());
    let table = first.create_table(&definition).unwrap();
    let days: ArrayRef = Arc::new(Date32Array::from_iter_values(19_000..19_200));
    let mut batch = first.batch(None);
    batch.append(&table, &RecordBatch::try_from_iter([("day", days)]).unwrap()).unwrap();
    batch.commit().unwrap();
    first.save_resident(std::slice::from_ref(&table)).unwrap();
    assert_eq!(first.slices(&table).unwrap().len(), 200);
    let state = engine(store, SystemEnvironment).snapshot().unwrap().resident(&table).unwrap();
    let (columns, _) = state.read(0, 0..200, &[0]).unwrap();
    assert!(columns[0].as_primitive::<Date32Type>().values().iter().copied().eq(19_000..19_200));
}

#[test]
fn more_rows_than_the_bound_allows_are_not_read_and_the_bound_can_be_raised() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let first = engine(Arc::clone(&store), SystemEnvironment);
    let table = first.create_table(&things()).unwrap();
    append(&first, &table, 0..200_000);
    first.save_resident(std::slice::from_ref(&table)).unwrap();

    let second = engine(store, SystemEnvironment);
    let set = |table: &Table, bytes_max| {
        let mut batch = second.batch(None);
        let memory = Some(InMemory { bytes_max });
        let table = batch.redefine(table, TableDefinition { memory, ..table.definition.clone() }).unwrap();
        batch.commit().unwrap();
        table
    };
    let small = set(&table, Some(1 << 20));
    let error = second.snapshot().unwrap().resident(&small).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("table things is full") && error.hint().unwrap().contains("max_memory"));
    let large = set(&small, Some(64 << 20));
    assert_eq!(ids(&second, &large), range(0..200_000));
}

#[test]
fn saved_rows_keep_to_the_definition_of_the_day_they_are_read() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let first = engine(Arc::clone(&store), SystemEnvironment);
    let table = first.create_table(&things()).unwrap();
    append(&first, &table, 0..10);
    first.save_resident(std::slice::from_ref(&table)).unwrap();

    let second = engine(Arc::clone(&store), SystemEnvironment);
    let mut to = table.definition.clone().with_column("more", ColumnType::Int64, None);
    let Some(Column { missing, .. }) = to.columns.last_mut() else { unreachable!() };
    *missing = Some(atsdb_core::Value::Int(7));
    let mut batch = second.batch(None);
    let wider = batch.redefine(&table, to).unwrap();
    batch.commit().unwrap();
    for engine in [second, engine(store, SystemEnvironment), first] {
        let state = engine.snapshot().unwrap().resident(&wider).unwrap();
        let (columns, _) = state.read(0, 0..10, &[2]).unwrap();
        assert!(columns[0].as_primitive::<arrow::datatypes::Int64Type>().values().iter().all(|value| *value == 7));
    }
}

#[test]
fn rows_that_were_found_under_another_processs_definition_can_be_changed() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let first = engine(Arc::clone(&store), SystemEnvironment);
    let table = first.create_table(&things()).unwrap();
    append(&first, &table, 0..10);

    let second = engine(store, SystemEnvironment);
    let mut batch = second.batch(None);
    let wider = table.definition.clone().with_column("more", ColumnType::Int64, None);
    let wider = batch.redefine(&table, wider).unwrap();
    batch.commit().unwrap();
    // The rows are found in a snapshot and changed later, in the transaction that took the snapshot.
    let mut batch = first.batch(None);
    let snapshot = batch.snapshot().unwrap();
    let found_in = snapshot.resident(&wider).unwrap();
    assert!(found_in.is(&snapshot.resident(&wider).unwrap()));
    batch.change_resident(&wider, &found_in, [(0, 0)], Vec::new()).unwrap();
    batch.commit().unwrap();
    assert_eq!(ids(&first, &wider), range(1..10));
}

#[test]
fn a_transaction_that_alters_a_table_before_its_first_use_changes_nothing_for_others() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let first = engine(Arc::clone(&store), SystemEnvironment);
    let table = first.create_table(&things()).unwrap();
    append(&first, &table, 0..10);
    first.save_resident(std::slice::from_ref(&table)).unwrap();
    let names = |engine: &Engine| {
        let state = engine.snapshot().unwrap().resident(&table).unwrap();
        let (columns, _) = state.read(0, 0..10, &[1]).unwrap();
        columns[0].len() - columns[0].null_count()
    };
    for is_committed in [false, true] {
        let second = engine(Arc::clone(&store), SystemEnvironment);
        let mut batch = second.batch(None);
        let mut to = table.definition.clone();
        to.columns.truncate(1);
        to.indexes.clear();
        let altered = batch.redefine(&table, to).unwrap();
        let found_in = batch.snapshot().unwrap().resident(&altered).unwrap();
        assert_eq!((found_in.row_count(), found_in.definition().columns.len()), (10, 1));
        assert_eq!(names(&second), 9);
        batch.change_resident(&altered, &found_in, [(0, 0)], Vec::new()).unwrap();
        if is_committed {
            batch.commit().unwrap();
            assert_eq!(ids(&second, &altered), range(1..10));
        } else {
            drop(batch);
            assert_eq!((ids(&second, &table), names(&second)), (range(0..10), 9));
        }
    }
}

#[test]
fn rows_that_others_add_to_a_table_before_its_new_constraint_is_committed_are_noticed() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let first = engine(Arc::clone(&store), SystemEnvironment);
    let table = first.create_table(&things()).unwrap();
    append(&first, &table, 0..3);
    first.save_resident(std::slice::from_ref(&table)).unwrap();

    let second = engine(store, SystemEnvironment);
    let mut batch = second.batch(None);
    let mut strict = table.definition.clone();
    strict.columns[1].nullable = false;
    batch.redefine(&table, strict).unwrap();
    // Row 3 has no name. It is the first use of the table in this process.
    append(&second, &table, 3..4);
    assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(ids(&second, &table), range(0..4));
}

#[test]
fn rows_that_two_processes_save_at_once_are_those_of_one() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let (first, second) =
        (engine(Arc::clone(&store), SystemEnvironment), engine(Arc::clone(&store), SystemEnvironment));
    let table = first.create_table(&things()).unwrap();
    append(&first, &table, 0..10);
    append(&second, &table, 20..30);
    // Nothing was saved before, so there are no saved rows that both would remove.
    let mut batch = first.batch(None);
    let state = batch.snapshot().unwrap().resident(&table).unwrap();
    batch.save_resident(&table, &state).unwrap();
    second.save_resident(std::slice::from_ref(&table)).unwrap();
    assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::Conflict);
    let begins = || engine(Arc::clone(&store), SystemEnvironment);
    assert_eq!(ids(&begins(), &table), range(20..30));
    first.save_resident(std::slice::from_ref(&table)).unwrap();
    assert_eq!(ids(&begins(), &table), range(0..10));
}

#[test]
fn a_dropped_table_takes_its_saved_rows_along() {
    let folder = tempfile::tempdir().unwrap();
    let store = sqlite(&folder.path().join("t.db"));
    let first = engine(store, SystemEnvironment);
    let table = first.create_table(&things()).unwrap();
    append(&first, &table, 0..10);
    first.save_resident(std::slice::from_ref(&table)).unwrap();
    first.drop_table(&table).unwrap();
    let again = first.create_table(&things()).unwrap();
    assert_eq!(ids(&first, &again), Vec::<i32>::new());
    assert_eq!(first.verify(None).unwrap().findings, []);
}

#[test]
fn rows_of_another_store_can_be_saved_in_one() {
    let of = engine(Arc::new(MemoryStore::new([7; 16])), SystemEnvironment);
    let source = of.create_table(&things()).unwrap();
    append(&of, &source, 0..140_000);
    let into = engine(Arc::new(MemoryStore::new([8; 16])), SystemEnvironment);
    let mut batch = into.batch(None);
    let target = batch.create_table(&things()).unwrap();
    let state = of.snapshot().unwrap().resident(&source).unwrap();
    assert_eq!(batch.save_resident(&target, &state).unwrap(), 140_000);
    batch.commit().unwrap();
    assert_eq!(ids(&into, &target), range(0..140_000));
    // The saved rows are one load: conflict policies apply to later rows only.
    let mut batch = into.batch(None);
    batch.append_with(&target, &rows(0..5), ConflictPolicy::Keep).unwrap();
    batch.commit().unwrap();
    assert_eq!(ids(&into, &target).len(), 140_000);
}

#[test]
fn rows_that_have_the_keys_of_new_rows_are_found_in_every_part() {
    let engine = engine(Arc::new(MemoryStore::new([7; 16])), SystemEnvironment);
    let table = engine.create_table(&things()).unwrap();
    append(&engine, &table, 0..1_000);
    append(&engine, &table, 2_000..2_010);
    let mut batch = engine.batch(None);
    let new = Int32Array::from(vec![2_005, 5, 7_777, 5]);
    let names: StringArray = vec![Some("x"); 4].into();
    let new = RecordBatch::try_from_iter([("id", Arc::new(new) as ArrayRef), ("name", Arc::new(names))]).unwrap();
    let new = batch.complete(&table, &new).unwrap();
    let holders = batch.conflicting_rows(&table, 0, &new).unwrap();
    assert_eq!(holders.group_of_row, [Some(0), Some(1), Some(2), Some(1)]);
    let id = |place: &Option<(u32, u32)>| {
        let rows = place.map(|(part, row)| holders.rows.read(part, vec![row]).unwrap())?;
        Some(rows.column(0).as_primitive::<Int32Type>().value(0))
    };
    assert_eq!(holders.locations.iter().map(id).collect::<Vec<_>>(), [Some(2_005), Some(5), None]);
    assert_eq!(batch.would_insert(&table, &new).unwrap(), [false, false, true, false]);
}

#[test]
fn rows_of_a_transaction_are_refused_once_their_table_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let stores: [Arc<dyn Store>; 2] = [Arc::new(MemoryStore::new([7; 16])), sqlite(&folder.path().join("t.db"))];
    for store in stores {
        let engine = engine(store, SystemEnvironment);
        let table = engine.create_table(&things()).unwrap();
        append(&engine, &table, 0..3);
        let mut batch = engine.batch(None);
        batch.append(&table, &rows(3..6)).unwrap();
        engine.drop_table(&table).unwrap();
        assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::NotFound);
        let another = engine.create_table(&things()).unwrap();
        assert!(ids(&engine, &another).is_empty());
        append(&engine, &another, 0..2);
        assert_eq!(ids(&engine, &another), [0, 1]);
    }
}
