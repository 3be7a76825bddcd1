//! The counters of identity columns: rows of `atsdb_store`, each with its own checksum.

use crate::error::Attempt;
use crate::table;
use atsdb_core::checksum::of_counter;
use atsdb_core::{ColumnId, Counter, Error, NumberBlock, NumberRequest, StageId, TableId};
use rusqlite::{Connection, OptionalExtension, params};

/// The bytes of a counter: its restarts, its last number, its checksum.
const COUNTER_BYTES: usize = 20;

/// The keys of all counters are between these.
pub(crate) const KEYS: [&str; 2] = ["counter ", "counter!"];

/// Reserves numbers.
pub(crate) fn reserve(connection: &Connection, request: &NumberRequest) -> Attempt<NumberBlock> {
    let NumberRequest { table, column, .. } = *request;
    table::require_any(connection, table)?;
    let (block, counter) = request.take(read(connection, table, column)?)?;
    let sql = "INSERT INTO atsdb_store (key, value) VALUES (?1, ?2)
               ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    connection.prepare_cached(sql)?.execute(params![key(table, column), encode(table, column, counter)])?;
    Ok(block)
}

/// The counter of a column; `None` if it never gave a number.
pub(crate) fn read(connection: &Connection, table: TableId, column: ColumnId) -> Attempt<Option<Counter>> {
    let mut statement = connection.prepare_cached("SELECT value FROM atsdb_store WHERE key = ?1")?;
    let bytes: Option<Vec<u8>> = statement.query_row([key(table, column)], |row| row.get(0)).optional()?;
    let Some(bytes) = bytes else { return Ok(None) };
    match decode(table, column, &bytes) {
        Some(counter) => Ok(Some(counter)),
        None => Err(damaged(table, column).into()),
    }
}

/// Deletes the counters of a table that no longer exists.
pub(crate) fn forget(connection: &Connection, table: TableId) -> Attempt<()> {
    let sql = "DELETE FROM atsdb_store WHERE key >= ?1 AND key < ?2";
    let ends = [format!("counter {} ", table.0), format!("counter {}!", table.0)];
    connection.prepare_cached(sql)?.execute(ends)?;
    Ok(())
}

/// Deletes the counters of the tables of a stage that is discarded.
pub(crate) fn forget_stage(connection: &Connection, stage: StageId) -> Attempt<()> {
    let mut statement = connection.prepare_cached("SELECT id FROM atsdb_table WHERE stage = ?1")?;
    let tables = statement.query_map([stage.0], |row| row.get(0).map(TableId))?;
    let tables = tables.collect::<rusqlite::Result<Vec<_>>>()?;
    tables.into_iter().try_for_each(|table| forget(connection, table))
}

/// The problem of a row of `atsdb_store` that is a counter by its key.
pub(crate) fn problem(key: &str, bytes: Option<&[u8]>) -> Option<&'static str> {
    let mut numbers = key.trim_start_matches(KEYS[0]).split(' ');
    let table = numbers.next().and_then(|number| number.parse().ok()).map(TableId);
    let column = numbers.next().and_then(|number| number.parse().ok()).map(ColumnId);
    match (table, column, bytes) {
        (Some(table), Some(column), Some(bytes)) if decode(table, column, bytes).is_some() => None,
        _ => Some("is damaged"),
    }
}

fn key(table: TableId, column: ColumnId) -> String {
    format!("counter {} {}", table.0, column.0)
}

fn encode(table: TableId, column: ColumnId, counter: Counter) -> [u8; COUNTER_BYTES] {
    let Counter { restarts, last } = counter;
    let mut bytes = [0; COUNTER_BYTES];
    bytes[..4].copy_from_slice(&restarts.to_le_bytes());
    bytes[4..12].copy_from_slice(&last.to_le_bytes());
    bytes[12..].copy_from_slice(&of_counter(table, column, restarts, last).to_le_bytes());
    bytes
}

fn decode(table: TableId, column: ColumnId, bytes: &[u8]) -> Option<Counter> {
    let bytes: &[u8; COUNTER_BYTES] = bytes.try_into().ok()?;
    let restarts = u32::from_le_bytes(bytes[..4].try_into().ok()?);
    let last = i64::from_le_bytes(bytes[4..12].try_into().ok()?);
    (encode(table, column, Counter { restarts, last }) == *bytes).then_some(Counter { restarts, last })
}

fn damaged(table: TableId, column: ColumnId) -> Error {
    Error::corrupt(format!("the counter of column {} of table {} is damaged", column.0, table.0))
        .with_hint("ALTER TABLE ... ALTER COLUMN ... RESTART WITH a number above all that exist begins a new one")
}
