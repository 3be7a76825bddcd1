//! Stages: chunks and tables that wait for their commit. A writer that changes a stage holds a lock on its row.

use crate::chunk_write::{self, Payloads};
use crate::connection::{Connection, Server};
use crate::counter;
use crate::error::Attempt;
use crate::expiry;
use crate::list_rows;
use crate::number_allocation::{self, ChangeLock};
use crate::table;
use atsdb_core::list::{ListChanges, ListKey};
use atsdb_core::refusal;
use atsdb_core::{ChunkId, NewChunk, StageId, TableId};

/// Opens a stage.
pub(crate) fn open(connection: &mut dyn Connection, now_ms: i64) -> Attempt<StageId> {
    expiry::reset(connection, now_ms)?;
    let id = number_allocation::next(connection, "stage")?;
    connection.execute("INSERT INTO atsdb_stage (id, touched_ms) VALUES ($1, $2)", &[id.into(), now_ms.into()])?;
    Ok(StageId(id))
}

/// Discards the stages whose last write is before a time.
pub(crate) fn abandon_idle(connection: &mut dyn Connection, cutoff_ms: i64) -> Attempt<()> {
    let idle = connection.query("SELECT id FROM atsdb_stage WHERE touched_ms < $1", &[cutoff_ms.into()])?;
    for row in idle {
        // The stage may have been written to while this waited for it.
        let sql = "SELECT 1 FROM atsdb_stage WHERE id = $1 AND touched_ms < $2 FOR UPDATE";
        if connection.exists(sql, &[row.int(0)?.into(), cutoff_ms.into()])? {
            abandon(connection, StageId(row.int(0)?))?;
        }
    }
    Ok(())
}

/// Returns the open stages.
pub(crate) fn list(connection: &mut dyn Connection) -> Attempt<Vec<StageId>> {
    let rows = connection.query("SELECT id FROM atsdb_stage ORDER BY id", &[])?;
    rows.iter().map(|row| row.int(0).map(StageId)).collect()
}

/// Refuses a stage that is not open.
pub(crate) fn require(connection: &mut dyn Connection, stage: StageId) -> Attempt<()> {
    found(connection.exists("SELECT 1 FROM atsdb_stage WHERE id = $1", &[stage.0.into()])?, stage)
}

/// Refuses a stage that is not open, and locks it until the transaction ends.
pub(crate) fn lock(connection: &mut dyn Connection, stage: StageId) -> Attempt<()> {
    found(connection.exists("SELECT 1 FROM atsdb_stage WHERE id = $1 FOR UPDATE", &[stage.0.into()])?, stage)
}

fn found(found: bool, stage: StageId) -> Attempt<()> {
    if found { Ok(()) } else { Err(refusal::no_stage(stage).into()) }
}

/// Writes chunks into a stage.
pub(crate) fn write(
    connection: &mut dyn Connection,
    server: &dyn Server,
    stage: StageId,
    chunks: &[NewChunk],
    payloads: &Payloads,
    now_ms: i64,
) -> Attempt<()> {
    chunk_write::insert_pages(connection, server, chunks, payloads)?;
    let sql = "UPDATE atsdb_stage SET touched_ms = greatest(touched_ms, $1) WHERE id = $2";
    found(connection.execute(sql, &[now_ms.into(), stage.0.into()])? > 0, stage)?;
    expiry::reset(connection, now_ms)?;
    chunk_write::insert(connection, chunks, payloads, payloads.first(), Some(stage))
}

/// Makes a stage's tables and chunks visible and ends it.
pub(crate) fn publish(lock: &mut ChangeLock<'_>, stage: StageId) -> Attempt<()> {
    self::lock(lock.connection, stage)?;
    let number = [stage.0.into()];
    let dropped = "SELECT table_id FROM atsdb_chunk WHERE stage = $1 AND table_id NOT IN
                   (SELECT id FROM atsdb_table WHERE stage = 0 OR stage = $1) LIMIT 1";
    if let Some(row) = lock.connection.query_first(dropped, &number)? {
        return Err(refusal::no_table(TableId(row.int(0)?)).into());
    }
    let taken = "SELECT name FROM atsdb_table WHERE stage = $1 AND name_key IN
                 (SELECT name_key FROM atsdb_table WHERE stage = 0) LIMIT 1";
    if let Some(mut row) = lock.connection.query_first(taken, &number)? {
        return Err(refusal::table_exists(&row.text(0)?).into());
    }
    let tables = table::state(lock.connection, Some(stage))?;
    list_rows::check(lock.connection, ListKey::tables(Some(stage)), tables)?;
    lock.connection.execute("UPDATE atsdb_table SET stage = 0 WHERE stage = $1", &number)?;
    let mut changes = ListChanges::default();
    changes.add(ListKey::tables(None), tables);
    list_rows::record(lock.connection, &changes)?;
    chunk_write::publish(lock, stage)?;
    list_rows::forget_stage(lock.connection, stage)?;
    lock.connection.execute("DELETE FROM atsdb_stage WHERE id = $1", &number)?;
    Ok(())
}

/// Removes chunks from a stage. `reclaim` deletes their pages later.
pub(crate) fn remove_chunks(connection: &mut dyn Connection, stage: StageId, chunks: &[ChunkId]) -> Attempt<()> {
    lock(connection, stage)?;
    for chunk in chunks {
        if chunk_write::discard(connection, "stage = $1 AND id = $2", &[stage.0.into(), chunk.0.into()])? == 0 {
            return Err(refusal::no_chunk_in_stage(stage, *chunk).into());
        }
    }
    Ok(())
}

/// Removes a table and its chunks from a stage. `reclaim` deletes its mappings and pages later.
pub(crate) fn remove_table(connection: &mut dyn Connection, stage: StageId, table: TableId) -> Attempt<()> {
    lock(connection, stage)?;
    let both = [stage.0.into(), table.0.into()];
    if !table::delete(connection, table, Some(stage))? {
        return Err(refusal::no_table_in_stage(stage, table).into());
    }
    table::record_dropped(connection, table)?;
    counter::forget(connection, table)?;
    chunk_write::discard(connection, "stage = $1 AND table_id = $2", &both)?;
    list_rows::forget_table(connection, table)
}

/// Discards a stage. `reclaim` deletes what it wrote later.
pub(crate) fn abandon(connection: &mut dyn Connection, stage: StageId) -> Attempt<()> {
    let number = [stage.0.into()];
    if connection.execute("DELETE FROM atsdb_stage WHERE id = $1", &number)? > 0 {
        chunk_write::discard(connection, "stage = $1", &number)?;
        counter::forget_stage(connection, stage)?;
        connection.execute("INSERT INTO atsdb_dropped SELECT id FROM atsdb_table WHERE stage = $1", &number)?;
        let sql =
            "DELETE FROM atsdb_list WHERE stage = 0 AND table_id IN (SELECT id FROM atsdb_table WHERE stage = $1)";
        connection.execute(sql, &number)?;
        connection.execute("DELETE FROM atsdb_table WHERE stage = $1", &number)?;
        list_rows::forget_stage(connection, stage)?;
    }
    Ok(())
}
