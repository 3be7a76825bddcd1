//! Defaults of added rows that lack a column: values, and what functions return: one current time for a batch, and a
//! UUID for each row.

use crate::support::{FixedClock, engine};
use arrow::array::{Array, ArrayRef, AsArray, Int32Array, RecordBatch, TimestampMillisecondArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use arrow::util::display::array_value_to_string;
use atsdb_core::{
    Column, ColumnType, CurrentTimes, DefaultFunction, ElementType, ErrorKind, MapWidth, Result, TableDefinition,
    TimeUnit, Value, uuid_text,
};
use atsdb_engine::{Engine, Environment, ScanRequest};
use atsdb_memory::MemoryStore;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const DAY_MS: i64 = 86_400_000;

fn definition() -> TableDefinition {
    let columns = [
        ("at", ColumnType::Timestamp(TimeUnit::Millisecond), DefaultFunction::Now),
        ("second", ColumnType::Timestamp(TimeUnit::Second), DefaultFunction::StatementTimestamp),
        ("day", ColumnType::Date, DefaultFunction::CurrentDate),
        ("id", ColumnType::Uuid, DefaultFunction::GenRandomUuid),
    ];
    let mut definition = TableDefinition::new("t").with_column("n", ColumnType::Int32, None);
    for (name, column_type, function) in columns {
        definition = definition.with_column(name, column_type, None);
        if let Some(Column { nullable, default_function, .. }) = definition.columns.last_mut() {
            (*nullable, *default_function) = (false, Some(function));
        }
    }
    definition
}

fn rows_of(numbers: &[i32]) -> RecordBatch {
    RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from(numbers.to_vec())) as ArrayRef)]).unwrap()
}

/// The number, the times as counts, and the UUID of each row, by number.
fn stored(engine: &Engine) -> Vec<(i64, i64, i64, i64, String)> {
    let table = engine.table("t").unwrap();
    let mut rows = Vec::new();
    for batch in engine.snapshot().unwrap().scan(&table, &ScanRequest::all(&table)).unwrap().batches() {
        let batch = batch.unwrap();
        let counts = |position: usize| {
            let column = batch.column(position);
            let column = match column.data_type() {
                DataType::Date32 => cast(column, &DataType::Int32).unwrap(),
                _ => Arc::clone(column),
            };
            cast(&column, &DataType::Int64).unwrap().as_primitive::<Int64Type>().values().to_vec()
        };
        let (numbers, times, seconds, days) = (counts(0), counts(1), counts(2), counts(3));
        let ids = batch.column(4).as_string::<i32>();
        for row in 0..batch.num_rows() {
            rows.push((numbers[row], times[row], seconds[row], days[row], ids.value(row).to_owned()));
        }
    }
    rows.sort();
    rows
}

#[test]
fn the_rows_of_a_batch_get_one_time_and_each_its_own_uuid() {
    let clock = Arc::new(FixedClock(AtomicI64::new(DAY_MS + 1_600)));
    let engine = engine_with(&clock);
    let table = engine.create_table(&definition()).unwrap();
    let mut batch = engine.batch(None);
    batch.append(&table, &rows_of(&[1, 2])).unwrap();
    clock.0.store(5 * DAY_MS, Ordering::SeqCst);
    batch.append(&table, &rows_of(&[3])).unwrap();
    batch.commit().unwrap();
    let mut appender = engine.appender(&table);
    appender.append(&rows_of(&[4])).unwrap();
    appender.flush().unwrap();
    let mut batch = engine.batch(None);
    batch.set_times(CurrentTimes { transaction: 1_000, statement: 9_000_000 });
    batch.append(&table, &rows_of(&[5])).unwrap();
    batch.commit().unwrap();
    let rows = stored(&engine);
    let times: Vec<_> = rows.iter().map(|(number, at, second, day, _)| (*number, *at, *second, *day)).collect();
    let early = |number: i64| (number, DAY_MS + 1_600, 86_402, 1);
    assert_eq!(times, [early(1), early(2), early(3), (4, 5 * DAY_MS, 432_000, 5), (5, 1, 9, 0)]);
    let mut ids: Vec<_> = rows.into_iter().map(|(.., id)| id).collect();
    assert!(ids.iter().all(|id| uuid_text::canonical(id).as_ref() == Some(id) && &id[14..15] == "4"), "{ids:?}");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5, "a UUID was given twice");
}

#[test]
fn given_values_stay_and_null_is_no_default() {
    let clock = Arc::new(FixedClock(AtomicI64::new(7)));
    let engine = engine_with(&clock);
    let mut definition = definition();
    definition.columns[1].nullable = true;
    let table = engine.create_table(&definition).unwrap();
    let at: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![Some(3), None]));
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let rows = RecordBatch::try_from_iter_with_nullable([("n", numbers, true), ("at", at, true)]).unwrap();
    let mut batch = engine.batch(None);
    batch.append(&table, &rows).unwrap();
    batch.commit().unwrap();
    let snapshot = engine.snapshot().unwrap();
    let batches = snapshot.scan(&table, &ScanRequest::all(&table)).unwrap().batches();
    let nulls: usize = batches.into_iter().map(|rows| rows.unwrap().column(1).null_count()).sum();
    assert_eq!(nulls, 1);
    assert!(stored(&engine).iter().any(|(number, at, ..)| (*number, *at) == (1, 3)));
}

#[test]
fn rows_made_under_an_older_definition_get_its_defaults() {
    let engine = engine_with(&Arc::new(FixedClock(AtomicI64::new(DAY_MS + 1_600))));
    let table = engine.create_table(&definition()).unwrap();
    let mut batch = engine.batch(None);
    batch.append(&table, &rows_of(&[1])).unwrap();
    let mut to = table.definition.clone();
    to.columns[1].default_function = None;
    to.columns[2].default_function = Some(DefaultFunction::CurrentDate);
    to.columns[3].default_function = None;
    to.columns[4].default_function = None;
    let mut change = engine.batch(None);
    change.redefine(&table, to).unwrap();
    change.commit().unwrap();
    batch.append(&table, &rows_of(&[2])).unwrap();
    batch.commit().unwrap();
    let rows = stored(&engine);
    let times: Vec<_> = rows.iter().map(|(number, at, second, day, _)| (*number, *at, *second, *day)).collect();
    assert_eq!(times, [1, 2].map(|number| (number, DAY_MS + 1_600, 86_402, 1)));
}

/// A table whose columns after the number have values as defaults.
fn with_values() -> TableDefinition {
    let text = |text: &str| Value::Text(text.to_owned());
    let decimal = ColumnType::Decimal { precision: 6, scale: 2 };
    let columns = [
        ("room", ColumnType::Text, Some(MapWidth::U8), text("hall")),
        ("at", ColumnType::Timestamp(TimeUnit::Second), None, Value::Int(5)),
        ("day", ColumnType::Date, None, Value::Int(1)),
        ("price", decimal, None, text("1.50")),
        ("small", ColumnType::Int8, None, Value::Int(-7)),
        ("ratio", ColumnType::Float32, None, Value::Float(0.1)),
        ("flags", ColumnType::Array(ElementType::Int32), None, text("{1,2}")),
    ];
    let mut definition = TableDefinition::new("t").with_column("n", ColumnType::Int32, None);
    for (name, column_type, map, value) in columns {
        definition = definition.with_column(name, column_type, map);
        if let Some(Column { nullable, default, .. }) = definition.columns.last_mut() {
            (*nullable, *default) = (false, Some(value));
        }
    }
    definition
}

/// Each row as text.
fn texts_of(engine: &Engine) -> Vec<String> {
    let table = engine.table("t").unwrap();
    let mut rows = Vec::new();
    for batch in engine.snapshot().unwrap().scan(&table, &ScanRequest::all(&table)).unwrap().batches() {
        let batch = batch.unwrap();
        let value = |column: &ArrayRef, row| array_value_to_string(column, row).unwrap();
        let row = |row| batch.columns().iter().map(|column| value(column, row)).collect::<Vec<_>>().join(" ");
        rows.extend((0..batch.num_rows()).map(row));
    }
    rows.sort();
    rows
}

#[test]
fn rows_that_lack_a_column_get_its_value() {
    let engine = engine_with(&Arc::new(FixedClock(AtomicI64::new(0))));
    let table = engine.create_table(&with_values()).unwrap();
    let mut batch = engine.batch(None);
    batch.append(&table, &rows_of(&[1, 2])).unwrap();
    batch.commit().unwrap();
    let defaults = "hall 1970-01-01T00:00:05Z 1970-01-02 1.50 -7 0.1 [1, 2]";
    assert_eq!(texts_of(&engine), [format!("1 {defaults}"), format!("2 {defaults}")]);
    let partial = RecordBatch::try_from_iter([("n", int(3)), ("SMALL", int(4))]).unwrap();
    let mut batch = engine.batch(None);
    batch.append(&table, &partial).unwrap();
    batch.commit().unwrap();
    assert_eq!(texts_of(&engine)[2], "3 hall 1970-01-01T00:00:05Z 1970-01-02 1.50 4 0.1 [1, 2]");
}

fn int(value: i32) -> ArrayRef {
    Arc::new(Int32Array::from(vec![value]))
}

#[test]
fn rows_made_under_an_older_definition_get_its_values() {
    let engine = engine_with(&Arc::new(FixedClock(AtomicI64::new(0))));
    let mut definition = TableDefinition::new("t")
        .with_column("n", ColumnType::Int32, None)
        .with_column("kept", ColumnType::Int32, None)
        .with_column("without", ColumnType::Int32, None);
    definition.columns[1].default = Some(Value::Int(7));
    let table = engine.create_table(&definition).unwrap();
    let mut batch = engine.batch(None);
    batch.append(&table, &rows_of(&[1])).unwrap();
    let mut to = table.definition.clone();
    to.columns[1].default = Some(Value::Int(8));
    to.columns[2].default = Some(Value::Int(9));
    let mut change = engine.batch(None);
    change.redefine(&table, to).unwrap();
    change.commit().unwrap();
    batch.append(&table, &rows_of(&[2])).unwrap();
    batch.append(&engine.table("t").unwrap(), &rows_of(&[3])).unwrap();
    batch.commit().unwrap();
    assert_eq!(texts_of(&engine), ["1 7 ", "2 7 ", "3 8 9"]);
}

#[test]
fn a_default_that_the_column_cannot_have_is_refused() {
    for (column_type, function) in
        [(ColumnType::Int64, DefaultFunction::Now), (ColumnType::Date, DefaultFunction::GenRandomUuid)]
    {
        let mut definition = TableDefinition::new("t").with_column("a", column_type, None);
        definition.columns[0].default_function = Some(function);
        let engine = engine_with(&Arc::new(FixedClock(AtomicI64::new(0))));
        assert_eq!(engine.create_table(&definition).unwrap_err().kind(), ErrorKind::Usage);
    }
}

fn engine_with(clock: &Arc<FixedClock>) -> Engine {
    engine(Arc::new(MemoryStore::new([7; 16])), SharedClock(Arc::clone(clock)))
}

/// A clock that a test sets while an engine has it.
struct SharedClock(Arc<FixedClock>);

impl Environment for SharedClock {
    fn now_ms(&self) -> i64 {
        self.0.now_ms()
    }

    fn random(&self) -> Result<[u8; 16]> {
        self.0.random()
    }
}
