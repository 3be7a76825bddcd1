//! The counters of identity columns: rows of `atsdb_number`.

use crate::connection::Connection;
use crate::error::Attempt;
use crate::table;
use atsdb_core::{ColumnId, Counter, NumberBlock, NumberRequest, StageId, TableId};

/// The first words of the names of a counter's rows.
const KINDS: [&str; 2] = ["counter", "restarts"];

/// Reserves numbers, under the lock of the table's row.
pub(crate) fn reserve(connection: &mut dyn Connection, request: &NumberRequest) -> Attempt<NumberBlock> {
    let NumberRequest { table, column, .. } = *request;
    table::lock(connection, table)?;
    let before = read(connection, table, column)?;
    let (block, counter) = request.take(before)?;
    let [last, restarts] = names(table, column);
    write(connection, &last, before.map(|before| before.last), counter.last)?;
    let restarts_before = before.map(|before| before.restarts.into()).filter(|count| *count != 0);
    if restarts_before.unwrap_or(0) != i64::from(counter.restarts) {
        write(connection, &restarts, restarts_before, counter.restarts.into())?;
    }
    Ok(block)
}

/// The counter of a column; `None` if it never gave a number.
pub(crate) fn read(connection: &mut dyn Connection, table: TableId, column: ColumnId) -> Attempt<Option<Counter>> {
    let [last, restarts] = names(table, column);
    let sql = "SELECT last FROM atsdb_number WHERE name = $1";
    let Some(row) = connection.query_first(sql, &[last.as_str().into()])? else { return Ok(None) };
    let last = row.int(0)?;
    let restarts = connection.query_first(sql, &[restarts.as_str().into()])?;
    let restarts = restarts.map_or(Ok(0), |row| row.number(0))?;
    Ok(Some(Counter { restarts, last }))
}

/// Deletes the counters of a table that no longer exists.
pub(crate) fn forget(connection: &mut dyn Connection, table: TableId) -> Attempt<()> {
    // The rows are looked up without locking others, which transactions hold for long.
    let sql = "SELECT name FROM atsdb_number WHERE name LIKE $1 OR name LIKE $2";
    let kinds = KINDS.map(|kind| format!("{kind} {} %", table.0));
    for mut row in connection.query(sql, &[kinds[0].as_str().into(), kinds[1].as_str().into()])? {
        let name = row.text(0)?;
        connection.execute("DELETE FROM atsdb_number WHERE name = $1", &[name.as_str().into()])?;
    }
    Ok(())
}

/// Deletes the counters of the tables of a stage that is discarded.
pub(crate) fn forget_stage(connection: &mut dyn Connection, stage: StageId) -> Attempt<()> {
    for row in connection.query("SELECT id FROM atsdb_table WHERE stage = $1", &[stage.0.into()])? {
        forget(connection, TableId(row.int(0)?))?;
    }
    Ok(())
}

/// The names of the rows with a counter's last number and its restarts.
fn names(table: TableId, column: ColumnId) -> [String; 2] {
    KINDS.map(|kind| format!("{kind} {} {}", table.0, column.0))
}

fn write(connection: &mut dyn Connection, name: &str, before: Option<i64>, number: i64) -> Attempt<()> {
    let sql = match before {
        Some(_) => "UPDATE atsdb_number SET last = $2 WHERE name = $1",
        None => "INSERT INTO atsdb_number (name, last) VALUES ($1, $2)",
    };
    connection.execute(sql, &[name.into(), number.into()])?;
    Ok(())
}
