//! Stages: chunks and tables that wait for their commit.

use crate::chunk_write;
use crate::counter;
use crate::error::{Attempt, Failure};
use crate::expiry;
use crate::list_rows;
use crate::split::placed_pages::PlacedPages;
use crate::table;
use crate::writer::WriteTransaction;
use atsdb_core::list::{ListChanges, ListKey};
use atsdb_core::refusal;
use atsdb_core::{ChunkId, Error, NewChunk, StageId, TableId};
use rusqlite::{Connection, OptionalExtension, ffi, params};

/// Opens a stage.
pub(crate) fn open(connection: &Connection, now_ms: i64) -> Attempt<StageId> {
    expiry::reset(connection, now_ms)?;
    connection.prepare_cached("INSERT INTO atsdb_stage (touched_ms) VALUES (?1)")?.execute([now_ms])?;
    Ok(StageId(connection.last_insert_rowid()))
}

/// Discards the stages whose last write is before a time.
pub(crate) fn abandon_idle(connection: &WriteTransaction<'_>, cutoff_ms: i64) -> Attempt<()> {
    let idle = connection
        .prepare_cached("SELECT id FROM atsdb_stage WHERE touched_ms < ?1")?
        .query_map([cutoff_ms], |row| row.get(0).map(StageId))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    idle.into_iter().try_for_each(|stage| abandon(connection, stage))
}

/// Returns the open stages.
pub(crate) fn list(connection: &Connection) -> Attempt<Vec<StageId>> {
    let mut statement = connection.prepare_cached("SELECT id FROM atsdb_stage ORDER BY id")?;
    let stages = statement.query_map([], |row| row.get(0).map(StageId))?;
    Ok(stages.collect::<rusqlite::Result<_>>()?)
}

/// Refuses a stage that is not open.
pub(crate) fn require(connection: &Connection, stage: StageId) -> Attempt<()> {
    match connection.prepare_cached("SELECT 1 FROM atsdb_stage WHERE id = ?1")?.exists([stage.0])? {
        true => Ok(()),
        false => Err(refusal::no_stage(stage).into()),
    }
}

/// Writes chunks into a stage.
pub(crate) fn write(
    transaction: &WriteTransaction<'_>,
    stage: StageId,
    chunks: &[NewChunk],
    placed: &PlacedPages,
    now_ms: i64,
) -> Attempt<()> {
    let touched = transaction
        .prepare_cached("UPDATE atsdb_stage SET touched_ms = max(touched_ms, ?2) WHERE id = ?1")?
        .execute(params![stage.0, now_ms])?;
    if touched == 0 {
        return Err(refusal::no_stage(stage).into());
    }
    expiry::reset(transaction, now_ms)?;
    chunk_write::insert(transaction, chunks, placed, Some(stage))
}

/// Makes a stage's tables and chunks visible and ends it.
pub(crate) fn publish(connection: &Connection, stage: StageId) -> Attempt<()> {
    require(connection, stage)?;
    let dropped = "SELECT table_id FROM atsdb_chunk WHERE stage = ?1 AND table_id NOT IN
                   (SELECT id FROM atsdb_table WHERE stage IS NULL OR stage = ?1) LIMIT 1";
    if let Some(id) = connection.prepare_cached(dropped)?.query_row([stage.0], |row| row.get(0)).optional()? {
        return Err(refusal::no_table(TableId(id)).into());
    }
    let tables = table::state(connection, Some(stage))?;
    list_rows::check(connection, ListKey::tables(Some(stage)), tables)?;
    let show = connection.prepare_cached("UPDATE atsdb_table SET stage = NULL WHERE stage = ?1")?.execute([stage.0]);
    match show {
        Err(error) if crate::error::primary_code(&error) == Some(ffi::SQLITE_CONSTRAINT) => {
            return Err(name_taken(connection, stage)?.into());
        }
        other => other?,
    };
    let mut changes = ListChanges::default();
    changes.add(ListKey::tables(None), tables);
    list_rows::record(connection, &changes)?;
    chunk_write::publish(connection, stage)?;
    list_rows::forget_stage(connection, stage)?;
    connection.prepare_cached("DELETE FROM atsdb_stage WHERE id = ?1")?.execute([stage.0])?;
    Ok(())
}

fn name_taken(connection: &Connection, stage: StageId) -> Result<Error, Failure> {
    let sql = "SELECT name FROM atsdb_table WHERE stage = ?1 AND name_key IN
               (SELECT name_key FROM atsdb_table WHERE stage IS NULL) LIMIT 1";
    let name: Option<String> = connection.prepare_cached(sql)?.query_row([stage.0], |row| row.get(0)).optional()?;
    Ok(refusal::table_exists(name.as_deref().unwrap_or("of that name")))
}

/// Removes chunks from a stage. `reclaim` deletes their pages later.
pub(crate) fn remove_chunks(connection: &WriteTransaction<'_>, stage: StageId, chunks: &[ChunkId]) -> Attempt<()> {
    require(connection, stage)?;
    for chunk in chunks {
        if chunk_write::discard(connection, "stage = ?1 AND id = ?2", [stage.0, chunk.0])? == 0 {
            return Err(refusal::no_chunk_in_stage(stage, *chunk).into());
        }
    }
    Ok(())
}

/// Removes a table and its chunks from a stage. `reclaim` deletes its mappings and pages later.
pub(crate) fn remove_table(connection: &WriteTransaction<'_>, stage: StageId, table: TableId) -> Attempt<()> {
    require(connection, stage)?;
    if !table::delete(connection, table, Some(stage))? {
        return Err(refusal::no_table_in_stage(stage, table).into());
    }
    counter::forget(connection, table)?;
    chunk_write::discard(connection, "stage = ?1 AND table_id = ?2", [stage.0, table.0])?;
    list_rows::forget_table(connection, table)
}

/// Discards a stage. `reclaim` deletes what it wrote later.
pub(crate) fn abandon(connection: &WriteTransaction<'_>, stage: StageId) -> Attempt<()> {
    let deleted = connection.prepare_cached("DELETE FROM atsdb_stage WHERE id = ?1")?.execute([stage.0])?;
    if deleted > 0 {
        chunk_write::discard(connection, "stage = ?1", [stage.0])?;
        let sql =
            "DELETE FROM atsdb_list WHERE stage = 0 AND table_id IN (SELECT id FROM atsdb_table WHERE stage = ?1)";
        connection.prepare_cached(sql)?.execute([stage.0])?;
        counter::forget_stage(connection, stage)?;
        connection.prepare_cached("DELETE FROM atsdb_table WHERE stage = ?1")?.execute([stage.0])?;
        list_rows::forget_stage(connection, stage)?;
    }
    Ok(())
}
