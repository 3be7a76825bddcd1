//! Measures the same rows in a plain SQLite table, as a user would store them.

use crate::console::clock;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use arrow::record_batch::RecordBatch;
use atsdb::{Error, ErrorKind, Result};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::path::Path;

/// The measurements.
pub(super) struct PlainSqliteFigures {
    pub(super) row_count: u64,
    pub(super) load_seconds: f64,
    pub(super) read_seconds: f64,
    pub(super) byte_count: u64,
}

/// Loads the rows into a new file, reads them back, and removes the file.
pub(super) fn measure(path: &Path, rows: &[RecordBatch]) -> Result<PlainSqliteFigures> {
    let failed = |error: rusqlite::Error| {
        Error::new(ErrorKind::Unavailable, format!("plain SQLite, {}: {error}", path.display())).with_source(error)
    };
    let values = rows.iter().flat_map(rows_of).collect::<Vec<_>>();
    let column_count = rows.first().map_or(0, RecordBatch::num_columns);
    remove(path);
    let measured = load_and_read(path, rows, &values, column_count).map_err(failed);
    remove(path);
    measured
}

fn load_and_read(
    path: &Path,
    rows: &[RecordBatch],
    values: &[Vec<Value>],
    column_count: usize,
) -> rusqlite::Result<PlainSqliteFigures> {
    let mut connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let columns: Vec<String> = rows.first().map_or(Vec::new(), |batch| {
        batch.schema().fields().iter().enumerate().map(|(number, field)| declare(number, field.data_type())).collect()
    });
    connection.execute_batch(&format!("CREATE TABLE plain ({})", columns.join(", ")))?;
    let started = clock::now();
    let transaction = connection.transaction()?;
    {
        let marks = vec!["?"; column_count].join(", ");
        let mut insert = transaction.prepare(&format!("INSERT INTO plain VALUES ({marks})"))?;
        for row in values {
            insert.execute(params_from_iter(row))?;
        }
    }
    transaction.commit()?;
    let load_seconds = started.elapsed().as_secs_f64();
    let started = clock::now();
    let row_count = read(&connection, column_count)?;
    let read_seconds = started.elapsed().as_secs_f64();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i64>(0));
    let byte_count = number("PRAGMA page_count")? * number("PRAGMA page_size")?;
    Ok(PlainSqliteFigures { row_count, load_seconds, read_seconds, byte_count: byte_count as u64 })
}

fn read(connection: &Connection, column_count: usize) -> rusqlite::Result<u64> {
    let mut select = connection.prepare("SELECT * FROM plain")?;
    let mut rows = select.query([])?;
    let mut row_count = 0;
    while let Some(row) = rows.next()? {
        for column in 0..column_count {
            std::hint::black_box(row.get_ref(column)?);
        }
        row_count += 1;
    }
    Ok(row_count)
}

/// The declaration of a column, which is named by its number.
fn declare(number: usize, data_type: &DataType) -> String {
    let kind = match data_type {
        DataType::Float32 | DataType::Float64 => "REAL",
        DataType::Utf8 | DataType::Dictionary(..) => "TEXT",
        DataType::Binary => "BLOB",
        _ => "INTEGER",
    };
    format!("c{number} {kind}")
}

fn rows_of(batch: &RecordBatch) -> Vec<Vec<Value>> {
    let columns: Vec<Vec<Value>> = batch.columns().iter().map(values_of).collect();
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    (0..batch.num_rows()).map(|_| columns.iter_mut().filter_map(Iterator::next).collect()).collect()
}

/// Converts the values of a column to SQLite's. A timestamp becomes an integer.
fn values_of(array: &ArrayRef) -> Vec<Value> {
    let kind = match array.data_type() {
        DataType::Float32 | DataType::Float64 => DataType::Float64,
        DataType::Utf8 | DataType::Dictionary(..) => DataType::Utf8,
        _ => DataType::Int64,
    };
    // The demo's files have no types that cannot be cast to one of these three.
    let Ok(array) = cast(array, &kind) else { return vec![Value::Null; array.len()] };
    let value = |row: usize| match (&kind, array.is_null(row)) {
        (_, true) => Value::Null,
        (DataType::Float64, _) => Value::Real(array.as_primitive::<Float64Type>().value(row)),
        (DataType::Utf8, _) => Value::Text(array.as_string::<i32>().value(row).to_owned()),
        _ => Value::Integer(array.as_primitive::<Int64Type>().value(row)),
    };
    (0..array.len()).map(value).collect()
}

/// Removes a database file and the files that SQLite creates next to it.
pub(super) fn remove(path: &Path) {
    for ending in ["", "-wal", "-shm"] {
        // A missing file need not be removed. If a file cannot be removed, writing it reports an error.
        let _ = std::fs::remove_file(format!("{}{ending}", path.display()));
    }
}
