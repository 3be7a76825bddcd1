//! Writing chunks and taking them away. Reading them is in `snapshot`.
//!
//! A chunk's number says when it was committed; its payload number, under which its pages lie, says when they were
//! written. They differ for a staged chunk: it gets its number when it becomes visible, and its pages stay where
//! they are. In a split store the payload number of a larger chunk is the place of its pages in a page file.

use crate::connection::WriteTransaction;
use crate::error::Attempt;
use crate::numbers;
use crate::schema::COLUMN_BITS;
use crate::split::Placed;
use crate::table;
use atsdb_core::{ChunkId, ColumnId, Error, ErrorKind, NewChunk, Result, StageId, TableId};
use rusqlite::{Connection, Params, params};

/// The key of a page.
pub(crate) fn page_key(payload: i64, column: ColumnId) -> i64 {
    payload << COLUMN_BITS | i64::from(column.0)
}

/// Refuses a chunk that does not agree with its own descriptor.
pub(crate) fn check(chunk: &NewChunk) -> Result<()> {
    let described = chunk.descriptor.pages.iter().map(|page| page.byte_count as usize);
    if described.eq(chunk.pages.iter().map(Vec::len)) {
        return Ok(());
    }
    Err(Error::internal(format!("chunk {} does not have the pages its descriptor tells", chunk.descriptor.uid)))
}

/// Writes chunks, visible at once or with their stage; with their pages, but for those that were placed in page files.
pub(crate) fn insert(
    transaction: &WriteTransaction<'_>,
    chunks: &[NewChunk],
    placed: &Placed,
    stage: Option<StageId>,
) -> Attempt<()> {
    let Some(first) = chunks.first() else { return Ok(()) };
    let first_id = numbers::take(transaction, chunks.len())?;
    let mut insert_chunk = transaction.prepare_cached(
        "INSERT INTO atsdb_chunk (id, table_id, slice_start, sealed, row_count, time_min, time_max, byte_count,
            page_count, payload, stage, descriptor) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    let mut insert_page = transaction.prepare_cached("INSERT INTO atsdb_page (id, bytes) VALUES (?1, ?2)")?;
    table::require(transaction, first.table, stage)?;
    let mut table = first.table;
    for (position, (id, chunk)) in (first_id..).zip(chunks).enumerate() {
        if chunk.table != table {
            table::require(transaction, chunk.table, stage)?;
            table = chunk.table;
        }
        let descriptor = &chunk.descriptor;
        let payload = placed.payload(position);
        insert_chunk.execute(params![
            id,
            chunk.table.0,
            descriptor.slice.start,
            descriptor.sealed,
            descriptor.row_count,
            descriptor.time_min,
            descriptor.time_max,
            descriptor.byte_count() as i64,
            chunk.pages.len() as i64,
            payload.unwrap_or(id),
            stage.map(|stage| stage.0),
            chunk.descriptor_bytes,
        ])?;
        if payload.is_some() {
            continue;
        }
        for (page, bytes) in descriptor.pages.iter().zip(&chunk.pages) {
            insert_page.execute(params![page_key(id, page.column), bytes])?;
        }
    }
    Ok(())
}

/// Gives the chunks of a stage their numbers, after all others.
pub(crate) fn publish(connection: &Connection, stage: StageId) -> Attempt<()> {
    let columns = "table_id, slice_start, sealed, row_count, time_min, time_max, byte_count, page_count, payload";
    connection
        .prepare_cached(&format!(
            "INSERT INTO atsdb_chunk ({columns}, descriptor)
             SELECT {columns}, descriptor FROM atsdb_chunk WHERE stage = ?1 ORDER BY id"
        ))?
        .execute([stage.0])?;
    connection.prepare_cached("DELETE FROM atsdb_chunk WHERE stage = ?1")?.execute([stage.0])?;
    Ok(())
}

/// Takes a visible chunk away; a conflict if it is gone.
pub(crate) fn remove(connection: &Connection, table: TableId, chunk: ChunkId) -> Attempt<()> {
    let sql = "INSERT INTO atsdb_garbage SELECT payload, byte_count FROM atsdb_chunk
               WHERE id = ?1 AND table_id = ?2 AND stage IS NULL";
    if connection.prepare_cached(sql)?.execute(params![chunk.0, table.0])? == 0 {
        let message = format!("chunk {} of table {} was replaced by another writer", chunk.0, table.0);
        return Err(Error::new(ErrorKind::Conflict, message).into());
    }
    connection.prepare_cached("DELETE FROM atsdb_chunk WHERE id = ?1")?.execute([chunk.0])?;
    Ok(())
}

/// Takes all chunks of a condition on `?1`, `?2`, ... away; says how many.
pub(crate) fn discard(connection: &Connection, condition: &str, values: impl Params + Copy) -> Attempt<usize> {
    let keep = format!("INSERT INTO atsdb_garbage SELECT payload, byte_count FROM atsdb_chunk WHERE {condition}");
    connection.prepare_cached(&keep)?.execute(values)?;
    Ok(connection.prepare_cached(&format!("DELETE FROM atsdb_chunk WHERE {condition}"))?.execute(values)?)
}
