//! The rows of `atsdb_list`: the integrity records of the catalogue's lists. [`atsdb_core::list`] defines the lists and
//! their hashes.

use crate::error::Attempt;
use atsdb_core::list::{ChunkKey, ListChanges, ListKey, ListState, MODULUS};
use atsdb_core::{StageId, TableId};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;

/// Records the list changes of a transaction. A list without a row has no record yet.
pub(crate) fn record(connection: &Connection, changes: &ListChanges) -> Attempt<()> {
    let sql = "INSERT INTO atsdb_list (stage, table_id, column_id, entry_count, hash) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT DO UPDATE SET entry_count = entry_count + excluded.entry_count,
                   hash = (hash + excluded.hash) % ?6";
    for (key, state) in changes.iter() {
        let values = params![key.stage, key.table, key.column, state.count, state.hash, MODULUS];
        connection.prepare_cached(sql)?.execute(values)?;
    }
    Ok(())
}

/// Returns the record of a list, or that of an empty list if there is no row.
pub(crate) fn recorded(connection: &Connection, key: ListKey) -> Attempt<ListState> {
    let sql = "SELECT entry_count, hash FROM atsdb_list WHERE stage = ?1 AND table_id = ?2 AND column_id = ?3";
    let row = |row: &Row<'_>| Ok(ListState { count: row.get(0)?, hash: row.get(1)? });
    let found = connection.prepare_cached(sql)?.query_row(params![key.stage, key.table, key.column], row);
    Ok(found.optional()?.unwrap_or_default())
}

/// Refuses a list that differs from its record.
pub(crate) fn check(connection: &Connection, key: ListKey, found: ListState) -> Attempt<()> {
    Ok(key.check(found, recorded(connection, key)?)?)
}

/// Deletes the lists of a dropped table. Its lists in stages are deleted with the stages.
pub(crate) fn forget_table(connection: &Connection, table: TableId) -> Attempt<()> {
    connection.prepare_cached("DELETE FROM atsdb_list WHERE stage = 0 AND table_id = ?1")?.execute([table.0])?;
    Ok(())
}

/// Deletes the lists of a stage that ends.
pub(crate) fn forget_stage(connection: &Connection, stage: StageId) -> Attempt<()> {
    connection.prepare_cached("DELETE FROM atsdb_list WHERE stage = ?1")?.execute([stage.0])?;
    Ok(())
}

/// Returns the records of all lists that match a condition.
pub(crate) fn all(connection: &Connection, condition: &str) -> rusqlite::Result<BTreeMap<ListKey, ListState>> {
    let sql = format!("SELECT stage, table_id, column_id, entry_count, hash FROM atsdb_list WHERE {condition}");
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([], |row| {
        let key = ListKey { stage: row.get(0)?, table: row.get(1)?, column: row.get(2)? };
        Ok((key, ListState { count: row.get(3)?, hash: row.get(4)? }))
    })?;
    rows.collect()
}

/// Reads the fields by which a chunk is found, starting at a column of the row.
pub(crate) fn chunk_key(row: &Row<'_>, first: usize) -> rusqlite::Result<ChunkKey> {
    let [id, slice_start, time_min, time_max] = [0, 1, 2, 3].map(|field| row.get(first + field));
    Ok(ChunkKey { id: id?, slice_start: slice_start?, time_min: time_min?, time_max: time_max? })
}
