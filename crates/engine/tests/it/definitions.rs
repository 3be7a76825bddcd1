//! No operation uses an outdated definition: if a table changes between any two calls of the store, acknowledged rows
//! are stored as they were given, and no others.

use crate::support::{append, batch_of, engines, readings, redefine, row};
use arrow::array::{Array, ArrayRef, AsArray, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{Int32Type, Int64Type, TimestampSecondType};
use atsdb_core::{
    ChunkId, ColumnType, Error, ErrorKind, InMemory, MapWidth, Result, Rollup, RollupState, SliceWidth, Store, Table,
    TableDefinition,
};
use atsdb_engine::{ColumnSpec, Engine, EngineOptions, Field, Record, RowReader, RowWriter, ScanRequest};
use atsdb_memory::MemoryStore;
use atsdb_testkit::faulty::{Fails, Faults, FaultyStore};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// An engine without threads, so that the test makes all calls of the store.
fn quiet(store: Arc<dyn Store>) -> Engine {
    let options = EngineOptions { maintenance: false, preload_bytes: 0, ..EngineOptions::default() };
    Engine::new(store, options).unwrap()
}

/// Time, status, count, and the column that may be added.
type ReadRow = (i64, Option<String>, Option<i32>, Option<i32>);

fn rows_of(engine: &Engine) -> Vec<ReadRow> {
    let snapshot = engine.snapshot().unwrap();
    let table = snapshot.table("readings").unwrap();
    let extra = table.definition.columns.iter().position(|column| column.name == "extra");
    let mut found = Vec::new();
    for rows in snapshot.scan(table, &ScanRequest::all(table)).unwrap().batches() {
        let rows = rows.unwrap();
        let status = arrow::compute::cast(rows.column(2), &arrow::datatypes::DataType::Utf8).unwrap();
        let (times, counts) = (rows.column(0).as_primitive::<TimestampSecondType>(), rows.column(3));
        for at in 0..rows.num_rows() {
            let int = |column: &ArrayRef| {
                let column = column.as_primitive::<Int32Type>();
                column.is_valid(at).then(|| column.value(at))
            };
            let status = status.as_string::<i32>();
            let status = status.is_valid(at).then(|| status.value(at).to_owned());
            let extra = extra.and_then(|position| int(rows.column(position)));
            found.push((times.value(at), status, int(counts), extra));
        }
    }
    found.sort();
    found
}

fn widen(engine: &Engine) {
    let table = engine.table("readings").unwrap();
    let mut to = table.definition.clone();
    to.columns[2].map = Some(MapWidth::U16);
    redefine(engine, &table, to).unwrap();
    // More strings than the narrower map can hold.
    let rows: Vec<_> = (0..300).map(|n| row(1_000 + n, "w", &format!("wide{n}"), n as i32)).collect();
    append(engine, &engine.table("readings").unwrap(), &rows);
}

fn add_column(engine: &Engine) {
    let table = engine.table("readings").unwrap();
    let table =
        redefine(engine, &table, table.definition.clone().with_column("extra", ColumnType::Int32, None)).unwrap();
    let rows = batch_of(&[row(2, "x", "ok", 2)]);
    let names = rows.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    let columns = names.iter().map(String::as_str).zip(rows.columns().iter().cloned());
    let extra: ArrayRef = Arc::new(Int32Array::from(vec![42]));
    let rows = RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, array)| (name, array, name != "time")).chain([("extra", extra, true)]),
    );
    let mut batch = engine.batch(None);
    batch.append(&table, &rows.unwrap()).unwrap();
    batch.commit().unwrap();
}

fn create_rollup(engine: &Engine) {
    let source = engine.table("readings").unwrap();
    let mut definition = TableDefinition { name: "hourly".into(), ..readings() };
    let state = RollupState::new(ChunkId(0));
    let (table, every, query) = ("readings".into(), "1 hour".into(), "SELECT".into());
    definition.rollup = Some(Rollup { source: source.id, schema: None, table, every, query, state });
    let mut batch = engine.batch(None);
    batch.create_rollup(&source, definition).unwrap();
    batch.commit().unwrap();
    let rollup = engine.table("hourly").unwrap();
    let mut batch = engine.batch(None);
    let newest = batch.snapshot().unwrap().newest_chunk().unwrap();
    let state = RollupState { accounted: newest, stale: Vec::new(), closed_before: None };
    batch.refresh_rollup(&rollup, &[(i64::MIN, i64::MAX)], Vec::new(), state).unwrap();
    batch.commit().unwrap();
    append(engine, &engine.table("readings").unwrap(), &[row(3, "x", "late", 3)]);
}

fn drop_readings(engine: &Engine) {
    engine.drop_table(&engine.table("readings").unwrap()).unwrap();
}

/// A row as a struct, without its time.
struct Pushed(&'static str, &'static str, i32);

impl Record for Pushed {
    fn columns() -> Vec<ColumnSpec> {
        Vec::new()
    }
    fn write(&self, row: &mut RowWriter<'_>) {
        row.put_text(0, self.0);
        row.put_text(1, self.1);
        self.2.write(row, 2);
    }
    fn read(_: &RowReader<'_>) -> Result<Self> {
        Err(Error::internal("rows are only written here"))
    }
}

/// An operation on a table that was looked up before. Returns the rows that were acknowledged.
type Operation = fn(&Engine, &Table) -> Result<Vec<ReadRow>>;
/// A change by another engine during the operation.
type Intervention = fn(&Engine);

/// The operations. The rows that they add have times from 50 on.
const WORK: [(&str, Operation); 6] = [
    ("append", |engine, table| {
        let mut batch = engine.batch(None);
        batch.append(table, &batch_of(&[row(50, "x", "wide280", 1)]))?;
        batch.commit()?;
        Ok(vec![(50, Some("wide280".into()), Some(1), None)])
    }),
    ("append twice", |engine, table| {
        let mut batch = engine.batch(None);
        batch.append(table, &batch_of(&[row(50, "x", "ok", 1)]))?;
        batch.append(table, &batch_of(&[row(51, "x", "wide299", 2)]))?;
        batch.commit()?;
        Ok(vec![(50, Some("ok".into()), Some(1), None), (51, Some("wide299".into()), Some(2), None)])
    }),
    ("push", |engine, table| {
        let mut appender = engine.appender(table);
        appender.push(50, &Pushed("x", "wide280", 1))?;
        appender.flush()?;
        appender.push(51, &Pushed("x", "wide281", 2))?;
        appender.flush()?;
        Ok(vec![(50, Some("wide280".into()), Some(1), None), (51, Some("wide281".into()), Some(2), None)])
    }),
    ("recompress", |engine, _| engine.recompress(None).map(|_| Vec::new())),
    ("reslice", |engine, table| {
        let mut batch = engine.batch(None);
        batch.redefine(table, TableDefinition { slice: SliceWidth::Year, ..table.definition.clone() })?;
        batch.commit()?;
        engine.recompress(None).map(|_| Vec::new())
    }),
    ("truncate and append", |engine, table| {
        let mut batch = engine.batch(None);
        batch.truncate(table)?;
        batch.append(table, &batch_of(&[row(50, "x", "ok", 1)]))?;
        batch.commit()?;
        Ok(vec![(i64::MIN, None, None, None), (50, Some("ok".into()), Some(1), None)])
    }),
];

const ACTS: [(&str, Intervention); 4] =
    [("widen", widen), ("add a column", add_column), ("create a rollup", create_rollup), ("drop", drop_readings)];

#[test]
fn a_definition_may_change_between_any_two_calls() {
    for (name, work) in WORK {
        for (act_name, act) in ACTS {
            for call in 0.. {
                let place = format!("{name}, {act_name} before call {call}");
                if !intervene(&place, work, act, call) {
                    break;
                }
                assert!(call < 1_000, "{place}: the work has no end");
            }
        }
    }
}

/// Makes the change before the given call of an operation, and checks the outcome. Returns false if there were fewer
/// calls.
fn intervene(place: &str, work: Operation, act: Intervention, call: i64) -> bool {
    let inner: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let other = quiet(Arc::clone(&inner));
    let faults = Faults::new(Fails::Before);
    let own = quiet(Arc::new(FaultyStore::new(inner, &faults)));
    // Two tables, so that the operation also works on another one first.
    let first = other.create_table(&TableDefinition { name: "another".into(), ..readings() }).unwrap();
    let table = other.create_table(&readings()).unwrap();
    for table in [&first, &table] {
        append(&other, table, &[row(0, "x", "ok", 0)]);
        append(&other, table, &[row(1, "x", "ok", 1)]);
    }
    let (before, has_acted) = (rows_of(&other), Arc::new(AtomicBool::new(false)));
    let (acting, noted) = (other.clone(), Arc::clone(&has_acted));
    faults.intervene(call, move || {
        act(&acting);
        noted.store(true, Ordering::SeqCst);
    });
    let done = work(&own, &table);
    let _pause = faults.pause();
    let has_acted = has_acted.load(Ordering::SeqCst);
    if !has_acted {
        done.as_ref().unwrap_or_else(|error| panic!("{place}: {error}"));
    }
    let findings = other.verify(None).unwrap().findings;
    assert!(findings.is_empty(), "{place}: {findings:?}");
    if other.table("readings").is_err() {
        let kind = done.err().map(|error| error.kind());
        assert!(matches!(kind, None | Some(ErrorKind::NotFound | ErrorKind::Conflict)), "{place}: {kind:?}");
        return has_acted;
    }
    let added = match done {
        Ok(added) => added,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Conflict, "{place}: {error}");
            Vec::new()
        }
    };
    // The rows that the change itself adds must be kept.
    let of_others = match has_acted {
        true => others_rows(act),
        false => Vec::new(),
    };
    let is_truncated = added.first().is_some_and(|(time, ..)| *time == i64::MIN);
    let mut expected = if is_truncated { Vec::new() } else { before };
    expected.extend(added.into_iter().filter(|(time, ..)| *time != i64::MIN));
    let found = rows_of(&other);
    expected.extend(of_others.iter().cloned());
    expected.sort();
    // A truncation may come before or after the change: the rows of the change are all there, or all removed.
    let without: Vec<ReadRow> = expected.iter().filter(|row| !of_others.contains(row)).cloned().collect();
    assert!(found == expected || (is_truncated && found == without), "{place}: {found:?}, not {expected:?}");
    let snapshot = other.snapshot().unwrap();
    if let Ok(rollup) = snapshot.table("hourly")
        && has_acted
    {
        let stale = snapshot.stale_times(rollup.definition.rollup.as_ref().unwrap()).unwrap();
        let is_stale = |time: i64| stale.iter().any(|(first, last)| *first <= time && time <= *last);
        assert!(is_stale(3), "{place}: the rollup does not know of the late row: {stale:?}");
        // The rollup was computed before the truncation, so the times of the removed rows must be stale.
        assert!(!is_truncated || (is_stale(0) && is_stale(1)), "{place}: nor that rows were taken away: {stale:?}");
    }
    has_acted
}

/// Returns the rows that a change adds by itself.
fn others_rows(act: Intervention) -> Vec<ReadRow> {
    let engine = quiet(Arc::new(MemoryStore::new([8; 16])));
    engine.create_table(&readings()).unwrap();
    act(&engine);
    if engine.table("readings").is_ok() { rows_of(&engine) } else { Vec::new() }
}

#[test]
fn no_null_comes_in_after_a_column_was_declared_not_null() {
    for call in 0.. {
        let inner: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
        let other = quiet(Arc::clone(&inner));
        let faults = Faults::new(Fails::Before);
        let own = quiet(Arc::new(FaultyStore::new(inner, &faults)));
        let table = other.create_table(&readings()).unwrap();
        let (acting, has_acted) = (other.clone(), Arc::new(AtomicBool::new(false)));
        let noted = Arc::clone(&has_acted);
        faults.intervene(call, move || {
            let table = acting.table("readings").unwrap();
            let mut to = table.definition.clone();
            to.columns[3].nullable = false;
            redefine(&acting, &table, to).unwrap();
            noted.store(true, Ordering::SeqCst);
        });
        let mut batch = own.batch(None);
        let done = batch.append(&table, &batch_of(&[(5, None, None, None)])).and_then(|()| batch.commit());
        if !has_acted.load(Ordering::SeqCst) {
            done.unwrap();
            assert!(call > 0, "the store was never asked");
            return;
        }
        let kind = done.expect_err("a NULL where none is allowed any more").kind();
        assert!(matches!(kind, ErrorKind::Conflict | ErrorKind::InvalidValue), "before call {call}: {kind:?}");
        assert!(rows_of(&other).is_empty());
    }
}

#[test]
fn a_string_written_through_an_older_definition_is_that_string() {
    let (_folder, engines) = engines();
    for engine in engines {
        let stale = engine.create_table(&readings()).unwrap();
        let mut appender = engine.appender(&stale);
        appender.push(1, &Pushed("x", "ok", 1)).unwrap();
        appender.flush().unwrap();
        widen(&engine);
        append(&engine, &stale, &[row(2, "x", "wide280", 2)]);
        appender.push(3, &Pushed("x", "new one", 3)).unwrap();
        appender.push(4, &Pushed("x", "wide281", 4)).unwrap();
        appender.flush().unwrap();
        let few: Vec<_> = rows_of(&engine).into_iter().filter(|(time, ..)| *time < 1_000).map(|row| row.1).collect();
        let expected = ["ok", "wide280", "new one", "wide281"].map(|text| Some(text.to_owned()));
        assert_eq!(few, expected);
        assert!(engine.verify(None).unwrap().findings.is_empty());
    }
}

#[test]
fn a_new_string_for_a_map_that_another_process_has_widened_is_that_string() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let (engine, other) = (quiet(Arc::clone(&store)), quiet(store));
    let mut appender = engine.appender(&engine.create_table(&readings()).unwrap());
    appender.push(1, &Pushed("x", "ok", 1)).unwrap();
    appender.flush().unwrap();
    widen(&other);
    // The map that the appender knows has no room for the new strings.
    for (time, status) in [(2, "new one"), (3, "ok"), (4, "another")] {
        appender.push(time, &Pushed("x", status, 2)).unwrap();
    }
    appender.flush().unwrap();
    let few: Vec<_> = rows_of(&engine).into_iter().filter(|(time, ..)| *time < 1_000).map(|row| row.1).collect();
    assert_eq!(few, ["ok", "new one", "ok", "another"].map(|text| Some(text.to_owned())));
}

#[test]
fn an_older_definition_cannot_be_used_to_read() {
    let (_folder, engines) = engines();
    for engine in engines {
        let stale = engine.create_table(&readings()).unwrap();
        add_column(&engine);
        let refused = engine.snapshot().unwrap().scan(&stale, &ScanRequest::all(&stale));
        assert_eq!(refused.err().unwrap().kind(), ErrorKind::Conflict);
    }
}

#[test]
fn a_transaction_does_not_redefine_a_table_that_was_redefined_meanwhile() {
    let (_folder, engines) = engines();
    for engine in engines {
        let stale = engine.create_table(&readings()).unwrap();
        add_column(&engine);
        let mut batch = engine.batch(None);
        let to = stale.definition.clone().with_column("mine", ColumnType::Int32, None);
        assert_eq!(batch.redefine(&stale, to).unwrap_err().kind(), ErrorKind::Conflict);
        drop(batch);
        assert!(engine.table("readings").unwrap().definition.column("extra").is_ok());
    }
}

fn in_memory() -> TableDefinition {
    let mut definition = TableDefinition::new("m").with_column("id", ColumnType::Int64, None);
    definition.memory = Some(InMemory::default());
    definition
}

fn ids(values: &[i64]) -> RecordBatch {
    let array: ArrayRef = Arc::new(arrow::array::Int64Array::from(values.to_vec()));
    RecordBatch::try_from_iter_with_nullable([("id", array, true)]).unwrap()
}

#[test]
fn an_older_definition_takes_no_column_of_a_table_in_memory_away() {
    let (_folder, engines) = engines();
    for engine in engines {
        let stale = engine.create_table(&in_memory()).unwrap();
        let put = |table: &Table, rows: &RecordBatch| {
            let mut batch = engine.batch(None);
            batch.append(table, rows).unwrap();
            batch.commit().unwrap();
        };
        put(&stale, &ids(&[1]));
        let table =
            redefine(&engine, &stale, stale.definition.clone().with_column("owner", ColumnType::Text, None)).unwrap();
        let owner: ArrayRef = Arc::new(StringArray::from(vec!["ada"]));
        let id: ArrayRef = Arc::new(arrow::array::Int64Array::from(vec![2]));
        put(&table, &RecordBatch::try_from_iter_with_nullable([("id", id, true), ("owner", owner, true)]).unwrap());
        put(&stale, &ids(&[3]));
        assert_eq!(engine.snapshot().unwrap().resident(&stale).err().unwrap().kind(), ErrorKind::Conflict);
        let snapshot = engine.snapshot().unwrap();
        let state = snapshot.resident(snapshot.table("m").unwrap()).unwrap();
        let mut found = Vec::new();
        for (part, rows) in state.row_ranges(1 << 20) {
            let (columns, _) = state.read(part, rows, &[0, 1]).unwrap();
            let (ids, owners) = (columns[0].as_primitive::<Int64Type>(), columns[1].as_string::<i32>());
            let owner = |at: usize| owners.is_valid(at).then(|| owners.value(at).to_owned());
            found.extend((0..ids.len()).map(|at| (ids.value(at), owner(at))));
        }
        found.sort();
        assert_eq!(found, [(1, None), (2, Some("ada".to_owned())), (3, None)]);
    }
}

#[test]
fn an_earlier_definition_of_a_batch_takes_no_column_of_a_table_in_memory_away() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&in_memory()).unwrap();
        let mut batch = engine.batch(None);
        batch.append(&table, &ids(&[1])).unwrap();
        let with = |table: &Table, name: &str| table.definition.clone().with_column(name, ColumnType::Text, None);
        let earlier = batch.redefine(&table, with(&table, "owner")).unwrap();
        let later = batch.redefine(&earlier, with(&earlier, "place")).unwrap();
        batch.append(&later, &ids(&[2])).unwrap();
        assert_eq!(batch.append(&earlier, &ids(&[3])).unwrap_err().kind(), ErrorKind::Conflict);
    }
}

#[test]
fn a_commit_that_comes_while_a_snapshot_is_taken_shows_whole_or_not_at_all() {
    for call in 0..4 {
        let faults = Faults::new(Fails::Before);
        let store = FaultyStore::new(Arc::new(MemoryStore::new([7; 16])), &faults);
        let engine = quiet(Arc::new(store));
        let memory = engine.create_table(&in_memory()).unwrap();
        let stored = TableDefinition { memory: None, name: "s".into(), ..in_memory() };
        let stored = engine.create_table(&stored).unwrap();
        let commit = |engine: &Engine, stored: &Table, memory: &Table| {
            let mut batch = engine.batch(None);
            batch.append(stored, &ids(&[1])).unwrap();
            batch.append(memory, &ids(&[1])).unwrap();
            batch.commit().unwrap();
        };
        commit(&engine, &stored, &memory);
        let (acting, into) = (engine.clone(), (stored.clone(), memory.clone()));
        faults.intervene(call, move || commit(&acting, &into.0, &into.1));
        let snapshot = engine.snapshot().unwrap();
        let _pause = faults.pause();
        let rows = snapshot.scan(&stored, &ScanRequest::all(&stored)).unwrap().row_count_exact().unwrap();
        assert_eq!(snapshot.resident(&memory).unwrap().row_count() as u64, rows, "before call {call}");
    }
}

#[test]
fn a_transaction_reads_what_it_began_with_also_when_another_process_has_dropped_the_table() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let (own, other) = (quiet(Arc::clone(&store)), quiet(store));
    let table = other.create_table(&readings()).unwrap();
    let another = other.create_table(&TableDefinition { name: "another".into(), ..readings() }).unwrap();
    append(&other, &table, &[row(1, "a", "ok", 1)]);
    let read = |batch: &mut atsdb_engine::Batch| -> Result<usize> {
        let snapshot = batch.snapshot()?;
        let scan = snapshot.scan(snapshot.table("readings")?, &ScanRequest::all(&table))?;
        scan.batches().map(|rows| rows.map(|rows| rows.num_rows())).sum()
    };
    let (mut reads, mut appends) = (own.batch(None), own.batch(None));
    for batch in [&mut reads, &mut appends] {
        batch.snapshot().unwrap();
    }
    // Appending to another table makes the transaction read more than the store alone.
    reads.append(&another, &batch_of(&[row(1, "a", "ok", 1)])).unwrap();
    appends.append(&table, &batch_of(&[row(2, "b", "ok", 1)])).unwrap();
    other.drop_table(&table).unwrap();
    // Strings that were added to a dictionary later were dropped with the table: that is not damage.
    assert_eq!(read(&mut appends).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(appends.commit().unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(read(&mut reads).unwrap(), 1);
    reads.commit().unwrap();
}

#[test]
fn a_snapshot_is_one_moment_of_stored_tables_and_tables_in_memory() {
    const BATCHES: i64 = 500;
    let (_folder, engines) = engines();
    for engine in engines {
        let memory = engine.create_table(&in_memory()).unwrap();
        let stored = TableDefinition { memory: None, name: "s".into(), ..in_memory() };
        let stored = engine.create_table(&stored).unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..BATCHES {
                    let mut batch = engine.batch(None);
                    batch.append(&stored, &ids(&[n])).unwrap();
                    batch.append(&memory, &ids(&[n])).unwrap();
                    batch.commit().unwrap();
                }
                is_over.store(true, Ordering::SeqCst);
            });
            while !is_over.load(Ordering::SeqCst) {
                let snapshot = engine.snapshot().unwrap();
                let rows = snapshot.scan(&stored, &ScanRequest::all(&stored)).unwrap().row_count_exact().unwrap();
                assert_eq!(snapshot.resident(&memory).unwrap().row_count() as u64, rows);
            }
        });
    }
}
