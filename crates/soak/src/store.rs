//! The store that all workers share: its path, its tables, and its clock.

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use atsdb_core::Result;
use atsdb_engine::{Engine, EngineOptions, Environment, SystemEnvironment};
use atsdb_sql::{Answer, Session, SessionOptions};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The speed of the store's clock: an hour passes in a minute. So slices end, rows and leases expire and abandoned
/// stages are reclaimed many times in a run.
const FACTOR: i64 = 60;
/// The memory limit for queries, so that it does not depend on the machine.
const QUERY_BYTES: usize = 256 << 20;

/// The time for which readings are kept, in milliseconds of the store's clock.
pub(crate) const RETENTION_MS: i64 = 6 * 3_600_000;
/// The number of accounts and their initial balance. Transfers do not change the sum.
pub(crate) const ACCOUNTS: i64 = 1_000;
pub(crate) const BALANCE: i64 = 1_000;

/// The statements that set up a new store.
const TABLES: &str = "
CREATE TABLE readings (time TIMESTAMP, writer TEXT, batch BIGINT, sensor TEXT, status TEXT, value DOUBLE, note TEXT)
    WITH (time = 'time', slice = 'hour', map = 'writer:u8, sensor:u32, status:u8', retention = '6 hours');
CREATE TABLE events (time TIMESTAMP, writer TEXT, batch BIGINT)
    WITH (time = 'time', slice = 'hour', map = 'writer:u8', retention = '6 hours');
CREATE TABLE accounts (id BIGINT PRIMARY KEY, balance BIGINT);
CREATE TABLE marks (id BIGINT PRIMARY KEY, n BIGINT, remark TEXT);
CREATE TABLE bulk (part BIGINT, payload BYTEA);
CREATE ROLLUP summary ON readings EVERY '10 minutes' WITH (slice = 'hour', retention = '12 hours') AS
    SELECT sensor, count(*) AS n, sum(batch) AS batches, max(value) AS top FROM readings GROUP BY sensor;
INSERT INTO accounts SELECT value, 1000 FROM generate_series(1, 1000);";

/// A clock that started with the run and runs [`FACTOR`] times as fast as the system's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    begun_ms: i64,
}

impl Clock {
    pub(crate) fn new(begun_ms: i64) -> Self {
        Self { begun_ms }
    }
}

impl Environment for Clock {
    fn now_ms(&self) -> i64 {
        self.begun_ms + (SystemEnvironment.now_ms() - self.begun_ms) * FACTOR
    }

    fn random(&self) -> Result<[u8; 16]> {
        SystemEnvironment.random()
    }
}

pub(crate) fn path(folder: &Path) -> PathBuf {
    folder.join("soak.db")
}

/// Opens a store of the run, with or without background maintenance.
pub(crate) fn open(path: &Path, clock: Clock, maintenance: bool) -> Result<Engine> {
    let store = SqliteStore::open(path, &SqliteOptions::default())?;
    let options = EngineOptions { maintenance, environment: Arc::new(clock), ..EngineOptions::default() };
    Engine::new(Arc::new(store), options)
}

/// An engine with SQL.
pub(crate) fn session(engine: &Engine) -> Result<Session> {
    Session::new(engine.clone(), SessionOptions { memory_bytes: QUERY_BYTES, ..SessionOptions::default() })
}

pub(crate) fn create_tables(session: &Session) -> Result<()> {
    query(session, TABLES).map(drop)
}

/// Runs statements and returns the rows of the last one.
pub(crate) fn query(session: &Session, text: &str) -> Result<Vec<RecordBatch>> {
    let mut rows = Vec::new();
    for statement in session.statements(text) {
        rows.clear();
        if let Answer::Rows(answer) = session.execute(&statement?, &[])? {
            rows = answer.collect::<Result<_>>()?;
        }
    }
    Ok(rows)
}

/// Returns the integers in a query's answer, row by row, with 0 for NULL.
pub(crate) fn numbers(session: &Session, text: &str) -> Result<Vec<Vec<i64>>> {
    let mut all = Vec::new();
    for batch in query(session, text)? {
        let columns = batch.columns().iter().map(|column| cast(column, &DataType::Int64));
        let columns: Vec<_> = columns.collect::<std::result::Result<_, _>>()?;
        let number = |column: &arrow::array::ArrayRef, row| {
            let column = column.as_primitive::<Int64Type>();
            if arrow::array::Array::is_null(column, row) { 0 } else { column.value(row) }
        };
        all.extend((0..batch.num_rows()).map(|row| columns.iter().map(|column| number(column, row)).collect()));
    }
    Ok(all)
}
