//! Stores, tables and rows for the tests.

use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray, TimestampSecondArray};
use atsdb_core::{
    Change, ColumnType, Durability, MapWidth, Redefinition, Result, Store, Table, TableDefinition, TimeUnit,
};
use atsdb_engine::{Engine, EngineOptions, Environment, ScanRequest, SystemEnvironment};
use atsdb_memory::MemoryStore;
use atsdb_sqlite::{SplitBy, SplitLayout, SqliteOptions, SqliteStore};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// A clock that shows the time that was set.
pub(crate) struct FixedClock(pub(crate) AtomicI64);

impl Environment for FixedClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn random(&self) -> Result<[u8; 16]> {
        SystemEnvironment.random()
    }
}

pub(crate) fn sqlite_options() -> SqliteOptions {
    SqliteOptions { durability: Durability::Off, create: true, read_only: false, busy_timeout: Duration::from_secs(30) }
}

pub(crate) fn sqlite(path: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(path, &sqlite_options()).unwrap())
}

/// A store that is split by slice.
pub(crate) fn split(path: &Path) -> Arc<dyn Store> {
    let layout = SplitLayout { split: SplitBy::Slice, small_chunk_bytes: 0 };
    Arc::new(SqliteStore::open_split(path, &sqlite_options(), layout).unwrap())
}

/// Returns an engine on each kind of store, without background threads. The folder must live as long as the engines.
pub(crate) fn engines() -> (tempfile::TempDir, Vec<Engine>) {
    let folder = tempfile::tempdir().unwrap();
    let stores: [Arc<dyn Store>; 3] =
        [Arc::new(MemoryStore::new([7; 16])), sqlite(&folder.path().join("t.db")), split(&folder.path().join("t"))];
    (folder, stores.map(|store| engine(store, SystemEnvironment)).into())
}

pub(crate) fn engine(store: Arc<dyn Store>, environment: impl Environment + 'static) -> Engine {
    let environment = Arc::new(environment);
    // Preloading would make store calls on its own thread, and take the failures that a test arms for its calls.
    let options = EngineOptions {
        cache_bytes: 8 << 20,
        preload_bytes: 0,
        maintenance: false,
        environment,
        ..EngineOptions::default()
    };
    Engine::new(store, options).unwrap()
}

/// Columns: time (s), sensor (mapped u32), status (mapped u8), count.
pub(crate) fn readings() -> TableDefinition {
    TableDefinition::new("readings")
        .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
        .with_column("sensor", ColumnType::Text, Some(MapWidth::U32))
        .with_column("status", ColumnType::Text, Some(MapWidth::U8))
        .with_column("count", ColumnType::Int32, None)
        .with_time("time", TimeUnit::Second)
        .unwrap()
}

pub(crate) type Row = (i64, Option<String>, Option<String>, Option<i32>);

pub(crate) fn row(time: i64, sensor: &str, status: &str, count: i32) -> Row {
    (time, Some(sensor.into()), Some(status.into()), Some(count))
}

/// The number with its bits mixed, so that the numbers of a series have no pattern that an encoding would find.
pub(crate) fn scrambled(number: i64) -> i32 {
    let mixed = (number as i32).wrapping_mul(-1_640_531_535);
    (mixed ^ (mixed >> 15)).wrapping_mul(-2_048_144_789)
}

pub(crate) fn batch_of(rows: &[Row]) -> RecordBatch {
    let times = TimestampSecondArray::from_iter_values(rows.iter().map(|row| row.0)).with_timezone("UTC");
    RecordBatch::try_from_iter_with_nullable([
        ("time", Arc::new(times) as ArrayRef, false),
        ("sensor", Arc::new(rows.iter().map(|row| row.1.as_deref()).collect::<StringArray>()), true),
        ("status", Arc::new(rows.iter().map(|row| row.2.as_deref()).collect::<StringArray>()), true),
        ("count", Arc::new(rows.iter().map(|row| row.3).collect::<Int32Array>()), true),
    ])
    .unwrap()
}

pub(crate) fn append(engine: &Engine, table: &Table, rows: &[Row]) {
    let mut batch = engine.batch(None);
    batch.append(table, &batch_of(rows)).unwrap();
    batch.commit().unwrap();
}

/// Redefines a table in a batch of its own, and returns it with its new definition.
pub(crate) fn redefine(engine: &Engine, table: &Table, to: TableDefinition) -> Result<Table> {
    let mut batch = engine.batch(None);
    let redefined = batch.redefine(table, to)?;
    batch.commit()?;
    Ok(redefined)
}

/// Redefines a table in the store alone: the engine checks nothing and builds nothing.
pub(crate) fn redefine_in_store(engine: &Engine, table: &Table, to: TableDefinition) -> Table {
    let redefinition = Redefinition { table: table.id, from: table.definition.clone(), to: to.clone() };
    let change = Change { redefine: vec![redefinition], ..Change::default() };
    engine.store().commit(&[change], 0).unwrap().remove(0).unwrap();
    Table { id: table.id, version: table.version.next(), definition: to }
}

/// Returns the rows of some batches, in order.
pub(crate) fn rows_of(batches: impl IntoIterator<Item = Result<RecordBatch>>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for batch in batches {
        let batch = batch?;
        let column = |position: usize, to| arrow::compute::cast(batch.column(position), &to).unwrap();
        use arrow::array::{Array, AsArray};
        use arrow::datatypes::{DataType, Int32Type, Int64Type};
        let (times, counts) = (column(0, DataType::Int64), column(3, DataType::Int32));
        let (sensors, states) = (column(1, DataType::Utf8), column(2, DataType::Utf8));
        let text = |array: &ArrayRef, row| {
            let array = array.as_string::<i32>();
            array.is_valid(row).then(|| array.value(row).to_owned())
        };
        for row in 0..batch.num_rows() {
            let count = counts.as_primitive::<Int32Type>();
            let count = count.is_valid(row).then(|| count.value(row));
            rows.push((times.as_primitive::<Int64Type>().value(row), text(&sensors, row), text(&states, row), count));
        }
    }
    Ok(rows)
}

/// Returns all rows, sorted.
pub(crate) fn read_all(engine: &Engine, table: &Table) -> Result<Vec<Row>> {
    let mut rows = rows_of(engine.snapshot()?.scan(table, &ScanRequest::all(table))?.batches())?;
    rows.sort();
    Ok(rows)
}

pub(crate) fn sorted(rows: &[Row]) -> Vec<Row> {
    let mut rows = rows.to_vec();
    rows.sort();
    rows
}
