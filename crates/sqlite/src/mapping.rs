//! The dictionaries of mapped columns: strings to indices, and back.

use crate::checksum;
use crate::connection::{Sync, Writer};
use crate::error::Attempt;
use crate::table;
use atsdb_core::{ColumnId, Error, ErrorKind, TableId};
use rusqlite::{Connection, OptionalExtension, params};

/// The indices of the strings; new ones get the next free ones, in order.
pub(crate) fn map_values(
    writer: &mut Writer,
    table: TableId,
    column: ColumnId,
    capacity: u64,
    values: &[&[u8]],
) -> Attempt<Vec<u32>> {
    // An index never changes, so that what is found needs no lock against other writers.
    let known = writer.read(|connection| {
        table::require_any(connection, table)?;
        values.iter().map(|value| find(connection, table, column, value)).collect::<Attempt<Vec<_>>>()
    })?;
    if let Some(known) = known.iter().copied().collect::<Option<Vec<u32>>>() {
        return Ok(known);
    }
    // The log keeps order: a commit that uses an index takes it to the disk with it.
    writer.transaction(Sync::Later, |connection| {
        table::require_any(connection, table)?;
        let next = "SELECT coalesce(max(id) + 1, 0) FROM atsdb_map WHERE table_id = ?1 AND column_id = ?2";
        let mut next: u64 = connection.query_row(next, params![table.0, column.0], |row| row.get(0))?;
        let insert = "INSERT INTO atsdb_map (table_id, column_id, id, value, checksum) VALUES (?1, ?2, ?3, ?4, ?5)";
        let mut insert = connection.prepare_cached(insert)?;
        let mut indices = Vec::with_capacity(values.len());
        for (value, known) in values.iter().zip(known) {
            // Asked again: another writer, or this very loop, may have added it.
            let found = match known {
                Some(index) => Some(index),
                None => find(connection, table, column, value)?,
            };
            if let Some(index) = found {
                indices.push(index);
                continue;
            }
            let index = u32::try_from(next).ok().filter(|_| next < capacity).ok_or_else(|| full(capacity))?;
            let checksum = checksum::of_string(table, column, index, value);
            insert.execute(params![table.0, column.0, index, value, checksum])?;
            indices.push(index);
            next += 1;
        }
        Ok(indices)
    })
}

fn full(capacity: u64) -> Error {
    Error::new(ErrorKind::Limit, format!("the dictionary is full: it takes {capacity} strings"))
}

fn find(connection: &Connection, table: TableId, column: ColumnId, value: &[u8]) -> Attempt<Option<u32>> {
    let sql = "SELECT id, checksum FROM atsdb_map WHERE table_id = ?1 AND column_id = ?2 AND value = ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row(params![table.0, column.0, value], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)));
    match found.optional()? {
        None => Ok(None),
        Some((index, checksum)) if checksum == checksum::of_string(table, column, index, value) => Ok(Some(index)),
        Some((index, _)) => Err(damaged(table, column, index).into()),
    }
}

fn damaged(table: TableId, column: ColumnId, index: u32) -> Error {
    let place = format!("the dictionary of column {} of table {}", column.0, table.0);
    Error::corrupt(format!("{place}: string {index} is damaged"))
        .with_hint("run verify to find what is affected, and restore that from a backup")
}

/// The dictionary from an index on.
pub(crate) fn read(connection: &Connection, table: TableId, column: ColumnId, first: u32) -> Attempt<Vec<Vec<u8>>> {
    let sql = "SELECT id, value, checksum FROM atsdb_map
               WHERE table_id = ?1 AND column_id = ?2 AND id >= ?3 ORDER BY id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![table.0, column.0, first])?;
    let mut values = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, value): (u32, Vec<u8>) = (row.get(0)?, row.get(1)?);
        if u64::from(id) != u64::from(first) + values.len() as u64 {
            let place = format!("the dictionary of column {} of table {}", column.0, table.0);
            return Err(Error::corrupt(format!("{place} has a hole before index {id}")).into());
        }
        if row.get::<_, i64>(2)? != checksum::of_string(table, column, id, &value) {
            return Err(damaged(table, column, id).into());
        }
        values.push(value);
    }
    Ok(values)
}
