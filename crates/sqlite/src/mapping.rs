//! The dictionaries of mapped columns: strings to indices, and back.

use crate::error::Attempt;
use crate::list_rows;
use crate::table;
use crate::writer::{SyncMode, Writer};
use atsdb_core::checksum;
use atsdb_core::list::{ListChanges, ListKey, ListState};
use atsdb_core::refusal;
use atsdb_core::{ColumnId, Error, TableId};
use rusqlite::{Connection, OptionalExtension, params};

/// Returns the indices of the strings. Unknown strings get the next indices, in order.
pub(crate) fn map_values(
    writer: &mut Writer,
    table: TableId,
    column: ColumnId,
    capacity: u64,
    values: &[&[u8]],
) -> Attempt<Vec<u32>> {
    // A process that adds strings asks for those that it does not know, so most are new and are only looked up below.
    let mut known = vec![None; values.len()];
    if !writer.is_index_checked(table, column) {
        // An index never changes, so reading it needs no lock against other writers.
        known = writer.read(|connection| {
            table::require_any(connection, table)?;
            values.iter().map(|value| find(connection, table, column, value)).collect::<Attempt<Vec<_>>>()
        })?;
        if let Some(known) = known.iter().copied().collect::<Option<Vec<u32>>>() {
            return Ok(known);
        }
        writer.read(|connection| check_values(connection, table, column))?;
        writer.set_index_checked(table, column);
    }
    // The log preserves the order: a commit that uses an index also makes the index durable.
    writer.transaction(SyncMode::Deferred, |connection| {
        table::require_any(connection, table)?;
        let next = "SELECT coalesce(max(id) + 1, 0) FROM atsdb_map WHERE table_id = ?1 AND column_id = ?2";
        let mut next: u64 = connection.prepare_cached(next)?.query_row(params![table.0, column.0], |row| row.get(0))?;
        check_end(connection, (table, column), 0, next as usize)?;
        let (first, mut hashes) = (next, 0);
        let insert = "INSERT INTO atsdb_map (table_id, column_id, id, value, checksum) VALUES (?1, ?2, ?3, ?4, ?5)";
        let mut insert = connection.prepare_cached(insert)?;
        let mut indices = Vec::with_capacity(values.len());
        for (value, known) in values.iter().zip(known) {
            // It is looked up again, since another writer or this very loop may have added it.
            let found = match known {
                Some(index) => Some(index),
                None => find(connection, table, column, value)?,
            };
            if let Some(index) = found {
                indices.push(index);
                continue;
            }
            let index = u32::try_from(next)
                .ok()
                .filter(|_| next < capacity)
                .ok_or_else(|| refusal::dictionary_full(capacity))?;
            let checksum = checksum::of_string(table, column, index, value);
            insert.execute(params![table.0, column.0, index, value, checksum])?;
            indices.push(index);
            next += 1;
            hashes += i128::from(checksum::of_bytes(value));
        }
        let mut changes = ListChanges::default();
        changes.add(ListKey::dictionary(table, column), ListState::for_strings((next - first) as i64, hashes));
        list_rows::record(connection, &changes)?;
        Ok(indices)
    })
}

fn find(connection: &Connection, table: TableId, column: ColumnId, value: &[u8]) -> Attempt<Option<u32>> {
    let sql = "SELECT id, checksum FROM atsdb_map WHERE table_id = ?1 AND column_id = ?2 AND value = ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row(params![table.0, column.0, value], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)));
    match found.optional()? {
        None => Ok(None),
        Some((index, checksum)) if checksum == checksum::of_string(table, column, index, value) => Ok(Some(index)),
        Some((index, _)) => Err(refusal::string_damaged(table, column, index).into()),
    }
}

/// Refuses to look up strings by a database index that does not find all of them: a hidden string would get a second
/// number. Even if all entries exist, they are only found if they are in order.
fn check_values(connection: &Connection, table: TableId, column: ColumnId) -> Attempt<()> {
    let sql = "SELECT table_id, column_id, value FROM atsdb_map INDEXED BY atsdb_map_value
               WHERE table_id = ?1 AND column_id = ?2 ORDER BY value";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![table.0, column.0])?;
    let (mut count, mut hashes, mut before) = (0, 0, None);
    let key = ListKey::dictionary(table, column);
    while let Some(row) = rows.next()? {
        let value = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        let owner = (TableId(row.get(0)?), ColumnId(row.get(1)?));
        if owner != (table, column) || before.as_deref().is_some_and(|before| before >= value) {
            return Err(Error::corrupt(format!("{key} is damaged: the index of its strings is in disorder"))
                .with_hint(refusal::VERIFY)
                .into());
        }
        count += 1;
        hashes += i128::from(checksum::of_bytes(value));
        let last: &mut Vec<u8> = before.get_or_insert_default();
        last.clear();
        last.extend_from_slice(value);
    }
    list_rows::check(connection, key, ListState::for_strings(count, hashes))
}

/// Refuses a dictionary that, read from an index on, does not end where its record states. A dictionary whose table no
/// longer exists is being deleted.
fn check_end(connection: &Connection, (table, column): (TableId, ColumnId), first: u32, read: usize) -> Attempt<()> {
    let key = ListKey::dictionary(table, column);
    let recorded = list_rows::recorded(connection, key)?;
    let (first, read) = (i64::from(first), read as i64);
    let is_behind_end = read == 0 && first > recorded.count;
    if is_behind_end || first + read == recorded.count || table::require_any(connection, table).is_err() {
        return Ok(());
    }
    Err(key.damaged(ListState { count: first + read, hash: 0 }, recorded).into())
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
            return Err(refusal::strings_missing(table, column, id).into());
        }
        if row.get::<_, i64>(2)? != checksum::of_string(table, column, id, &value) {
            return Err(refusal::string_damaged(table, column, id).into());
        }
        values.push(value);
    }
    check_end(connection, (table, column), first, values.len())?;
    Ok(values)
}
