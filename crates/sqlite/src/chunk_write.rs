//! Writing and removing chunks. `snapshot` reads them.
//!
//! A chunk's number follows the order of commits; its payload number, under which its pages are stored, follows the
//! order in which they were written. They differ for a staged chunk: it gets its number when it becomes visible, and
//! its pages stay where they are. In a split store the payload number of a larger chunk is the location of its pages in
//! a page file. The row of a small chunk that is visible immediately has its pages ([`row_pages`]).

use crate::chunk_numbers;
use crate::error::Attempt;
use crate::list_rows;
use crate::row_pages;
use crate::schema::COLUMN_BITS;
use crate::split::placed_pages::PlacedPages;
use crate::table;
use crate::writer::WriteTransaction;
use atsdb_core::list::{ChunkKey, ChunkSums, ListChanges, ListKey, ListState};
use atsdb_core::refusal;
use atsdb_core::{Change, ChunkId, ColumnId, NewChunk, StageId, TableId};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use std::collections::BTreeMap;

/// Returns the key of a page.
pub(crate) fn page_key(payload: i64, column: ColumnId) -> i64 {
    payload << COLUMN_BITS | i64::from(column.0)
}

const INSERT: &str = "INSERT INTO atsdb_chunk (id, table_id, slice_start, sealed, row_count, time_min, time_max,
    byte_count, page_count, payload, stage, descriptor) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";

const INSERT_WITH_PAGES: &str = "INSERT INTO atsdb_chunk (id, table_id, slice_start, sealed, row_count, time_min,
    time_max, byte_count, page_count, payload, stage, descriptor, pages)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

const REMOVE: &str = "DELETE FROM atsdb_chunk WHERE id = ?1 AND table_id = ?2 AND stage IS NULL
    RETURNING id, slice_start, time_min, time_max, payload, byte_count, true";

const REMOVE_WITH_PAGES: &str = "DELETE FROM atsdb_chunk WHERE id = ?1 AND table_id = ?2 AND stage IS NULL
    RETURNING id, slice_start, time_min, time_max, payload, byte_count, pages IS NULL";

/// Returns a condition for chunks whose pages are not in their rows.
pub(crate) fn beside_rows(has_row_pages: bool) -> &'static str {
    if has_row_pages { "pages IS NULL" } else { "true" }
}

/// Writes chunks, visible immediately or with their stage. Their pages are written too, except for those in page files.
pub(crate) fn insert(
    transaction: &WriteTransaction<'_>,
    chunks: &[NewChunk],
    placed: &PlacedPages,
    stage: Option<StageId>,
) -> Attempt<()> {
    let Some(first) = chunks.first() else { return Ok(()) };
    let first_id = chunk_numbers::allocate(transaction, transaction.numbers, chunks.len())?;
    let takes_pages = transaction.has_row_pages && stage.is_none();
    let mut insert_chunk = transaction.prepare_cached(if takes_pages { INSERT_WITH_PAGES } else { INSERT })?;
    table::require(transaction, first.table, stage)?;
    let mut table = first.table;
    let mut added: BTreeMap<TableId, ChunkSums> = BTreeMap::new();
    for (position, (id, chunk)) in (first_id..).zip(chunks).enumerate() {
        if chunk.table != table {
            table::require(transaction, chunk.table, stage)?;
            table = chunk.table;
        }
        let descriptor = &chunk.descriptor;
        let payload = placed.payload(position);
        let (slice_start, time_min, time_max) = (descriptor.slice.start, descriptor.time_min, descriptor.time_max);
        added.entry(table).or_default().add(&ChunkKey { id, slice_start, time_min, time_max });
        let in_row = if takes_pages && payload.is_none() { row_pages::encode(chunk) } else { None };
        let (byte_count, page_count) = (descriptor.byte_count() as i64, chunk.pages.len() as i64);
        let (payload_number, stage_number) = (payload.unwrap_or(id), stage.map(|stage| stage.0));
        let mut values = params![
            id,
            chunk.table.0,
            descriptor.slice.start,
            descriptor.sealed,
            descriptor.row_count,
            descriptor.time_min,
            descriptor.time_max,
            byte_count,
            page_count,
            payload_number,
            stage_number,
            chunk.descriptor_bytes,
        ]
        .to_vec();
        if takes_pages {
            values.push(&in_row);
        }
        insert_chunk.execute(values.as_slice())?;
        if payload.is_some() || in_row.is_some() {
            continue;
        }
        let mut insert_page = transaction.prepare_cached("INSERT INTO atsdb_page (id, bytes) VALUES (?1, ?2)")?;
        for (page, bytes) in descriptor.pages.iter().zip(&chunk.pages) {
            insert_page.execute(params![page_key(id, page.column), bytes])?;
        }
    }
    let mut changes = ListChanges::default();
    for (table, sums) in added {
        changes.add(ListKey::chunks(stage, table), sums.state(table));
    }
    list_rows::record(transaction, &changes)
}

/// Gives the chunks of a stage their final numbers, higher than all others.
pub(crate) fn publish(connection: &Connection, stage: StageId) -> Attempt<()> {
    let staged = {
        let sql = "SELECT table_id, id, slice_start, time_min, time_max FROM atsdb_chunk WHERE stage = ?1 ORDER BY id";
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map([stage.0], |row| Ok((TableId(row.get(0)?), list_rows::chunk_key(row, 1)?)))?;
        rows.collect::<rusqlite::Result<Vec<(TableId, ChunkKey)>>>()?
    };
    check_stage(connection, stage, &staged)?;
    let columns = "table_id, slice_start, sealed, row_count, time_min, time_max, byte_count, page_count, payload";
    let added = connection
        .prepare_cached(&format!(
            "INSERT INTO atsdb_chunk ({columns}, descriptor)
             SELECT {columns}, descriptor FROM atsdb_chunk WHERE stage = ?1 ORDER BY id"
        ))?
        .execute([stage.0])?;
    // The numbers of one statement are consecutive.
    let first_id = connection.last_insert_rowid() - added as i64 + 1;
    let mut sums: BTreeMap<TableId, ChunkSums> = BTreeMap::new();
    for ((table, key), id) in staged.iter().zip(first_id..) {
        sums.entry(*table).or_default().add(&ChunkKey { id, ..*key });
    }
    let mut changes = ListChanges::default();
    for (table, sums) in sums {
        changes.add(ListKey::chunks(None, table), sums.state(table));
    }
    list_rows::record(connection, &changes)?;
    connection.prepare_cached("DELETE FROM atsdb_chunk WHERE stage = ?1")?.execute([stage.0])?;
    Ok(())
}

/// Refuses a stage whose chunks differ from those that were written.
fn check_stage(connection: &Connection, stage: StageId, staged: &[(TableId, ChunkKey)]) -> Attempt<()> {
    let mut sums: BTreeMap<TableId, ChunkSums> = BTreeMap::new();
    for (table, key) in staged {
        sums.entry(*table).or_default().add(key);
    }
    let mut found: BTreeMap<ListKey, ListState> =
        sums.iter().map(|(table, sums)| (ListKey::chunks(Some(stage), *table), sums.state(*table))).collect();
    for (key, recorded) in list_rows::all(connection, &format!("stage = {} AND table_id <> 0", stage.0))? {
        key.check(found.remove(&key).unwrap_or_default(), recorded)?;
    }
    found.into_iter().try_for_each(|(key, state)| Ok(key.check(state, ListState::default())?))
}

/// Removes a visible chunk; the caller records the list change. It is a conflict if the chunk no longer exists.
pub(crate) fn remove(
    connection: &WriteTransaction<'_>,
    change: &Change,
    (table, chunk): (TableId, ChunkId),
    changes: &mut ListChanges,
) -> Attempt<()> {
    let sql = match connection.has_row_pages {
        true => REMOVE_WITH_PAGES,
        false => REMOVE,
    };
    let row = |row: &Row<'_>| Ok((list_rows::chunk_key(row, 0)?, row.get(4)?, row.get(5)?, row.get(6)?));
    let removed = connection.prepare_cached(sql)?.query_row(params![chunk.0, table.0], row).optional()?;
    let Some((key, payload, byte_count, has_own_pages)): Option<(ChunkKey, i64, i64, bool)> = removed else {
        return Err(refusal::chunk_replaced(&change.table_name(table), chunk).into());
    };
    if has_own_pages {
        let sql = "INSERT INTO atsdb_garbage (payload, byte_count) VALUES (?1, ?2)";
        connection.prepare_cached(sql)?.execute([payload, byte_count])?;
    }
    changes.subtract(ListKey::chunks(None, table), ChunkSums::of(&key).state(table));
    Ok(())
}

/// Removes all chunks that match a condition on `?1`, `?2`, ..., and returns how many they were.
pub(crate) fn discard(
    connection: &WriteTransaction<'_>,
    condition: &str,
    values: impl Params + Copy,
) -> Attempt<usize> {
    let mut sums: BTreeMap<(Option<StageId>, TableId), ChunkSums> = BTreeMap::new();
    let sql = format!("SELECT stage, table_id, id, slice_start, time_min, time_max FROM atsdb_chunk WHERE {condition}");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        let (stage, table) = (row.get::<_, Option<i64>>(0)?.map(StageId), TableId(row.get(1)?));
        sums.entry((stage, table)).or_default().add(&list_rows::chunk_key(row, 2)?);
    }
    let mut changes = ListChanges::default();
    for ((stage, table), sums) in sums {
        changes.subtract(ListKey::chunks(stage, table), sums.state(table));
    }
    list_rows::record(connection, &changes)?;
    let beside = beside_rows(connection.has_row_pages);
    let keep =
        format!("INSERT INTO atsdb_garbage SELECT payload, byte_count FROM atsdb_chunk WHERE {beside} AND {condition}");
    connection.prepare_cached(&keep)?.execute(values)?;
    Ok(connection.prepare_cached(&format!("DELETE FROM atsdb_chunk WHERE {condition}"))?.execute(values)?)
}
