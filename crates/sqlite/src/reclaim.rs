//! Reclaiming: deleting data that no reader can see any more, and shrinking the file. `split::reclaim` handles page
//! files.

use crate::error::Attempt;
use crate::expiry;
use crate::schema::COLUMN_BITS;
use crate::split::page_location::PAGE_LOCATION_MIN;
use crate::stage;
use crate::writer::{SyncMode, WriteTransaction, Writer};
use atsdb_core::clock_skew::ExpiredEntries;
use atsdb_core::store::Reclaimed;
use rusqlite::{Connection, OptionalExtension, params};

/// The assumed size of a small row (a batch name, a dictionary string) with its index entry, in bytes.
const SMALL_ROW_BYTES: u64 = 128;

/// Dropped tables that still have dictionaries. The query steps from one table to the next by the index, without
/// reading the dictionaries.
const ORPHANED_DICTIONARY: &str = "
WITH RECURSIVE owner (id) AS (
    SELECT min(table_id) FROM atsdb_map
    UNION ALL SELECT (SELECT min(table_id) FROM atsdb_map WHERE table_id > owner.id) FROM owner WHERE id IS NOT NULL)
SELECT id FROM owner WHERE id IS NOT NULL AND id NOT IN (SELECT id FROM atsdb_table) LIMIT 1";

/// The bytes that are deleted at once on a full disk, and those of the smallest step after that.
const FULL_DISK_DELETE_BYTES: u64 = 1 << 30;
const FULL_DISK_BUDGET_MIN: u64 = 64 << 10;

/// The free pages that stay in the file beside writers: an eighth of the file, and at least 4 MiB. Otherwise the file
/// would become shorter with each round of sealing, and grow again with the next rows.
const SPARE_FRACTION: i64 = 8;
const SPARE_PAGES_MIN: i64 = 1_024;

/// The bytes of a large row whose deletion costs about as much as that of a small row. So a step holds the writer for
/// milliseconds, however small the pages are.
const ROW_COST_BYTES: u64 = 8 << 10;

/// The part of the free space that is returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    All,
    /// Keeps space that writers will probably fill soon, in the file and in its log.
    AllButSpare,
}

/// Runs one step. A step writes to the log before the file becomes shorter, so a full disk needs another order: first
/// everything is deleted, so that nothing is moved that will be deleted too; then the file is truncated, in smaller
/// steps if necessary.
pub(crate) fn reclaim_step(writer: &mut Writer, extent: Extent, byte_budget: u64, now_ms: i64) -> Attempt<Reclaimed> {
    match writer.free(|writer| reclaim(writer, extent, byte_budget, now_ms)) {
        Err(failure) if failure.is_full() => {}
        done => return done,
    }
    while writer.read(|connection| is_due(connection, now_ms))? {
        let delete = |connection: &WriteTransaction<'_>| delete(connection, FULL_DISK_DELETE_BYTES, now_ms);
        writer.free(|writer| writer.transaction(SyncMode::Deferred, delete))?;
    }
    let mut byte_budget = byte_budget;
    loop {
        match writer.free(|writer| reclaim(writer, extent, byte_budget, now_ms)) {
            Err(failure) if failure.is_full() && byte_budget > FULL_DISK_BUDGET_MIN => byte_budget /= 8,
            done => return done,
        }
    }
}

/// Runs one step in the usual order.
fn reclaim(writer: &mut Writer, extent: Extent, byte_budget: u64, now_ms: i64) -> Attempt<Reclaimed> {
    let (garbage, is_news) = writer.read(|connection| {
        let (before, seen) = expiry::find(connection, now_ms)?;
        Ok((has_garbage(connection, &seen)?, before != seen.since_ms))
    })?;
    if garbage || is_news {
        writer.transaction(SyncMode::Deferred, |connection| delete(connection, byte_budget, now_ms))?;
    } else if free_pages(writer.connection(), extent)? == 0 {
        return Ok(Reclaimed::default());
    }
    let free = free_pages(writer.connection(), extent)?;
    let byte_count = if free > 0 { shorten(writer, free, byte_budget)? } else { 0 };
    let more = writer.read(|connection| Ok(is_due(connection, now_ms)? || free_pages(connection, extent)? > 0))?;
    if extent == Extent::AllButSpare && byte_count == 0 {
        return Ok(Reclaimed { byte_count, more });
    }
    // The file must not grow because of data that the next step deletes.
    if !more || !writer.would_grow() {
        writer.checkpoint(false)?;
    }
    if !more && extent == Extent::All {
        writer.checkpoint(true)?;
    }
    Ok(Reclaimed { byte_count, more })
}

/// Returns whether there is anything to delete now.
fn is_due(connection: &Connection, now_ms: i64) -> Attempt<bool> {
    let (_, seen) = expiry::find(connection, now_ms)?;
    has_garbage(connection, &seen)
}

fn has_garbage(connection: &Connection, seen: &ExpiredEntries) -> Attempt<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM atsdb_garbage WHERE payload < ?3)
                   OR EXISTS (SELECT 1 FROM atsdb_stage WHERE touched_ms < ?1)
                   OR EXISTS (SELECT 1 FROM atsdb_batch WHERE committed_ms < ?2)";
    let cutoffs = params![seen.stage_cutoff_ms, seen.batch_cutoff_ms, PAGE_LOCATION_MIN];
    if connection.prepare_cached(sql)?.query_row(cutoffs, |row| row.get(0))? {
        return Ok(true);
    }
    Ok(orphaned_dictionary(connection)?.is_some())
}

fn orphaned_dictionary(connection: &Connection) -> Attempt<Option<i64>> {
    Ok(connection.prepare_cached(ORPHANED_DICTIONARY)?.query_row([], |row| row.get(0)).optional()?)
}

/// Deletes rows until about the budget is spent, at least something each time.
fn delete(connection: &WriteTransaction<'_>, byte_budget: u64, now_ms: i64) -> Attempt<()> {
    let (before, seen) = expiry::find(connection, now_ms)?;
    stage::abandon_idle(connection, seen.stage_cutoff_ms)?;
    let mut left = delete_pages(connection, byte_budget.max(1))?;
    let batches = "DELETE FROM atsdb_batch WHERE id IN (SELECT id FROM atsdb_batch WHERE committed_ms < ?1 LIMIT ?2)";
    let row_limit = |left: u64| (left / SMALL_ROW_BYTES).clamp(1, 1 << 20) as i64;
    if left > 0 {
        let gone = connection.prepare_cached(batches)?.execute(params![seen.batch_cutoff_ms, row_limit(left)])?;
        left = left.saturating_sub(gone as u64 * SMALL_ROW_BYTES);
    }
    // While old ids are left, the observation stays, so that the next step makes the same decision.
    let old = "SELECT 1 FROM atsdb_batch WHERE committed_ms < ?1 LIMIT 1";
    if !connection.prepare_cached(old)?.exists([seen.batch_cutoff_ms])? {
        expiry::record(connection, before, seen.since_ms)?;
    }
    if let Some(table) = orphaned_dictionary(connection)?.filter(|_| left > 0) {
        let sql = "DELETE FROM atsdb_map WHERE table_id = ?1 AND (column_id, id) IN
                   (SELECT column_id, id FROM atsdb_map WHERE table_id = ?1 LIMIT ?2)";
        connection.prepare_cached(sql)?.execute(params![table, row_limit(left)])?;
    }
    Ok(())
}

/// Deletes pages of removed chunks and returns the rest of the budget.
fn delete_pages(connection: &Connection, byte_budget: u64) -> Attempt<u64> {
    let mut left = byte_budget;
    let next = "SELECT payload FROM atsdb_garbage WHERE payload < ?1 LIMIT 1";
    while let Some(payload) =
        connection.prepare_cached(next)?.query_row([PAGE_LOCATION_MIN], |row| row.get::<_, i64>(0)).optional()?
    {
        // The length of a BLOB is in its row's header, so reading it reads no page of the BLOB.
        let mut pages = connection
            .prepare_cached("SELECT id, length(bytes) FROM atsdb_page WHERE id >= ?1 AND id < ?2 ORDER BY id")?;
        let keys = params![payload << COLUMN_BITS, (payload + 1) << COLUMN_BITS];
        let pages = pages
            .query_map(keys, |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<Vec<(i64, u64)>>>()?;
        let mut freed = 0;
        for (key, byte_count) in pages {
            if left == 0 {
                let sql = "UPDATE atsdb_garbage SET byte_count = max(0, byte_count - ?2) WHERE payload = ?1";
                connection.prepare_cached(sql)?.execute(params![payload, freed])?;
                return Ok(0);
            }
            connection.prepare_cached("DELETE FROM atsdb_page WHERE id = ?1")?.execute([key])?;
            left = left.saturating_sub(byte_count.max(ROW_COST_BYTES));
            freed += byte_count as i64;
        }
        connection.prepare_cached("DELETE FROM atsdb_garbage WHERE payload = ?1")?.execute([payload])?;
        left = left.saturating_sub(ROW_COST_BYTES);
        if left == 0 {
            break;
        }
    }
    Ok(left)
}

/// Returns the number of free pages that are to be returned.
fn free_pages(connection: &Connection, extent: Extent) -> Attempt<i64> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let free = number("PRAGMA freelist_count")?;
    match extent {
        Extent::All => Ok(free),
        Extent::AllButSpare => {
            let spare = (number("PRAGMA page_count")? / SPARE_FRACTION).max(SPARE_PAGES_MIN);
            Ok((free - spare).max(0))
        }
    }
}

/// Moves pages from the end of the file into its holes and truncates it. Returns by how many bytes it became shorter.
fn shorten(writer: &mut Writer, free: i64, byte_budget: u64) -> Attempt<u64> {
    writer.set_sync(SyncMode::Deferred)?;
    writer.repair_log()?;
    let connection = writer.connection();
    let page_bytes: u64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let count = |name: &str| connection.query_row(name, [], |row| row.get::<_, u64>(0));
    let before = count("PRAGMA page_count")?;
    let limit = (byte_budget / page_bytes).clamp(1, free.unsigned_abs().max(1));
    // Each step of the statement moves one page.
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({limit})"))?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    drop(rows);
    drop(statement);
    let after = count("PRAGMA page_count")?;
    writer.is_unsynced = true;
    writer.after_commit();
    Ok(before.saturating_sub(after) * page_bytes)
}
