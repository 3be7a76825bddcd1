//! The rows of `atsdb_list`: what is noted of each list of the catalogue. What lists there are, and their hashes, is
//! [`atsdb_core::list`]'s.

use crate::error::Attempt;
use atsdb_core::list::{ChunkKey, ListChanges, ListKey, ListState, MODULUS};
use atsdb_core::{StageId, TableId};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;

/// Notes what a transaction does to lists. Of a list without a row nothing was noted yet.
pub(crate) fn note(connection: &Connection, changes: &ListChanges) -> Attempt<()> {
    let sql = format!(
        "INSERT INTO atsdb_list (stage, table_id, column_id, entry_count, hash) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO UPDATE SET entry_count = entry_count + excluded.entry_count,
             hash = (hash + excluded.hash) % {MODULUS}"
    );
    let mut note = connection.prepare_cached(&sql)?;
    for (key, state) in changes.each() {
        note.execute(params![key.stage, key.table, key.column, state.count, state.hash])?;
    }
    Ok(())
}

/// What is noted of a list; of one without a row, that it is empty.
pub(crate) fn noted(connection: &Connection, key: ListKey) -> Attempt<ListState> {
    let sql = "SELECT entry_count, hash FROM atsdb_list WHERE stage = ?1 AND table_id = ?2 AND column_id = ?3";
    let row = |row: &Row<'_>| Ok(ListState { count: row.get(0)?, hash: row.get(1)? });
    let found = connection.prepare_cached(sql)?.query_row(params![key.stage, key.table, key.column], row);
    Ok(found.optional()?.unwrap_or_default())
}

/// Refuses a list that is not what was noted.
pub(crate) fn check(connection: &Connection, key: ListKey, found: ListState) -> Attempt<()> {
    Ok(key.check(found, noted(connection, key)?)?)
}

/// Forgets the lists of a table that is gone; what stages hold for it goes with them.
pub(crate) fn forget_table(connection: &Connection, table: TableId) -> Attempt<()> {
    connection.prepare_cached("DELETE FROM atsdb_list WHERE stage = 0 AND table_id = ?1")?.execute([table.0])?;
    Ok(())
}

/// Forgets the lists of a stage that ends.
pub(crate) fn forget_stage(connection: &Connection, stage: StageId) -> Attempt<()> {
    connection.prepare_cached("DELETE FROM atsdb_list WHERE stage = ?1")?.execute([stage.0])?;
    Ok(())
}

/// What is noted of all lists for which a condition holds.
pub(crate) fn all(connection: &Connection, condition: &str) -> rusqlite::Result<BTreeMap<ListKey, ListState>> {
    let sql = format!("SELECT stage, table_id, column_id, entry_count, hash FROM atsdb_list WHERE {condition}");
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([], |row| {
        let key = ListKey { stage: row.get(0)?, table: row.get(1)?, column: row.get(2)? };
        Ok((key, ListState { count: row.get(3)?, hash: row.get(4)? }))
    })?;
    rows.collect()
}

/// The fields by which a chunk is found, from a column of a row on.
pub(crate) fn chunk_key(row: &Row<'_>, first: usize) -> rusqlite::Result<ChunkKey> {
    let [id, slice_start, time_min, time_max] = [0, 1, 2, 3].map(|field| row.get(first + field));
    Ok(ChunkKey { id: id?, slice_start: slice_start?, time_min: time_min?, time_max: time_max? })
}
