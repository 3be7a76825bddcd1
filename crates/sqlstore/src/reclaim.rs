//! Reclaiming: deleting data that no reader can see any more. The server preserves rows that a snapshot still sees.

use crate::connection::{Connection, Server, Value};
use crate::error::Attempt;
use crate::expiry;
use crate::pool::Pool;
use crate::{pages, stage};
use atsdb_core::clock_skew::ExpiredEntries;
use atsdb_core::limits::STAGE_IDLE_MS_MAX;
use atsdb_core::store::Reclaimed;

/// The assumed size of a small row (a batch name, a dictionary string) with its index entry, in bytes.
const SMALL_ROW_BYTES: u64 = 128;

/// Runs one step.
pub(crate) fn reclaim(pool: &Pool, byte_budget: u64, now_ms: i64) -> Attempt<Reclaimed> {
    let look = |connection: &mut dyn Connection| {
        let (before, seen) = expiry::find(connection, now_ms)?;
        Ok((has_garbage(connection, &seen)?, before != seen.since_ms))
    };
    let (has_garbage, is_news) = pool.read(look)?;
    if !has_garbage && !is_news {
        return Ok(Reclaimed::default());
    }
    let byte_count = pool.transaction(|connection| {
        // Only one process reclaims at a time, the others wait for this row. The row also shows readers that something
        // was deleted.
        connection.execute("UPDATE atsdb_number SET last = last + 1 WHERE name = 'reclaim'", &[])?;
        delete(connection, pool.server(), byte_budget.max(1), now_ms)
    })?;
    let (more, _) = pool.read(look)?;
    if !more {
        delete_idle_writers(pool, now_ms.saturating_sub(STAGE_IDLE_MS_MAX))?;
        pool.without_transaction(|connection| pool.server().vacuum(connection))?;
    }
    Ok(Reclaimed { byte_count, more })
}

/// Deletes the rows of connections that were idle for a day. No process waits for their transactions. Only these rows
/// are locked; others can commit in the meantime.
fn delete_idle_writers(pool: &Pool, cutoff: i64) -> Attempt<()> {
    let sql = "SELECT id FROM atsdb_writer WHERE touched_ms < $1";
    let idle = pool.read(|connection| connection.query(sql, &[cutoff.into()]))?;
    let ids = idle.into_iter().map(|mut row| row.bytes(0)).collect::<Attempt<Vec<_>>>()?;
    if ids.is_empty() {
        return Ok(());
    }
    pool.transaction(|connection| {
        let sql = "DELETE FROM atsdb_writer WHERE id = $1 AND touched_ms < $2";
        ids.iter().try_for_each(|id| connection.execute(sql, &[Value::Bytes(id), cutoff.into()]).map(drop))
    })
}

fn has_garbage(connection: &mut dyn Connection, seen: &ExpiredEntries) -> Attempt<bool> {
    let sql = "SELECT 1 FROM atsdb_number WHERE name = 'reclaim' AND (EXISTS (SELECT 1 FROM atsdb_garbage)
                   OR EXISTS (SELECT 1 FROM atsdb_dropped)
                   OR EXISTS (SELECT 1 FROM atsdb_stage WHERE touched_ms < $1)
                   OR EXISTS (SELECT 1 FROM atsdb_batch WHERE committed_ms < $2))";
    connection.exists(sql, &[seen.stage_cutoff_ms.into(), seen.batch_cutoff_ms.into()])
}

/// Deletes rows until about the budget is spent, at least something each time. Returns the size of the deleted pages in
/// bytes.
fn delete(connection: &mut dyn Connection, server: &dyn Server, byte_budget: u64, now_ms: i64) -> Attempt<u64> {
    let (before, seen) = expiry::find(connection, now_ms)?;
    // If another process was faster, its clock may be behind.
    let is_decided = expiry::record(connection, before, seen.since_ms)?;
    if is_decided {
        stage::abandon_idle(connection, seen.stage_cutoff_ms)?;
    }
    let freed = delete_pages(connection, server, byte_budget)?;
    let mut left = byte_budget.saturating_sub(freed);
    if left > 0 && is_decided {
        left = left.saturating_sub(delete_batches(connection, left, seen.batch_cutoff_ms)? * SMALL_ROW_BYTES);
    }
    let old = "SELECT 1 FROM atsdb_batch WHERE committed_ms < $1 LIMIT 1";
    if is_decided && connection.exists(old, &[seen.batch_cutoff_ms.into()])? {
        // While old ids are left, the observation stays, so that the next step makes the same decision.
        expiry::record(connection, seen.since_ms, before)?;
    }
    if left > 0 {
        delete_dictionary(connection, left)?;
    }
    Ok(freed)
}

/// Deletes parts of removed chunks and returns their size in bytes.
fn delete_pages(connection: &mut dyn Connection, server: &dyn Server, byte_budget: u64) -> Attempt<u64> {
    let mut freed = 0;
    let next = "SELECT payload, sealed, byte_count FROM atsdb_garbage ORDER BY payload LIMIT 1";
    while let Some(row) = connection.query_first(next, &[])? {
        let (payload, sealed, byte_count) = (row.int(0)?, row.int(1)? != 0, row.number::<u64>(2)?);
        let (table, left) = (pages::table(sealed), byte_budget - freed);
        if byte_count > left {
            // They are deleted from the end, so that the rest still begins with part 0.
            let part_count = left.div_ceil(server.part_bytes()).max(1) as i64;
            let last = format!("SELECT max(part) FROM {table} WHERE payload = $1 HAVING max(part) IS NOT NULL");
            let last = connection.query_first(&last, &[payload.into()])?.map(|row| row.int(0)).transpose()?;
            if let Some(last) = last.filter(|last| *last >= part_count) {
                let sql = format!("DELETE FROM {table} WHERE payload = $1 AND part > $2");
                connection.execute(&sql, &[payload.into(), (last - part_count).into()])?;
                let bytes = part_count * server.part_bytes() as i64;
                let sql = "UPDATE atsdb_garbage SET byte_count = greatest(byte_count - $1, 1) WHERE payload = $2";
                connection.execute(sql, &[bytes.into(), payload.into()])?;
                return Ok(freed + left);
            }
        }
        pages::delete(connection, payload, sealed)?;
        connection.execute("DELETE FROM atsdb_garbage WHERE payload = $1", &[payload.into()])?;
        freed += byte_count.max(1);
        if freed >= byte_budget {
            break;
        }
    }
    Ok(freed.min(byte_budget))
}

/// Deletes old batch names, oldest first, and returns at least how many.
fn delete_batches(connection: &mut dyn Connection, left: u64, cutoff_ms: i64) -> Attempt<u64> {
    let limit = row_limit(left);
    let sql = "SELECT committed_ms FROM atsdb_batch WHERE committed_ms < $1 ORDER BY committed_ms LIMIT 1 OFFSET $2";
    let last = connection.query_first(sql, &[cutoff_ms.into(), limit.into()])?.map(|row| row.int(0)).transpose()?;
    let sql = "DELETE FROM atsdb_batch WHERE committed_ms <= $1";
    connection.execute(sql, &[last.unwrap_or(cutoff_ms.saturating_sub(1)).into()])
}

/// Deletes strings of a dropped table, the last ones first.
fn delete_dictionary(connection: &mut dyn Connection, left: u64) -> Attempt<()> {
    let Some(row) = connection.query_first("SELECT table_id FROM atsdb_dropped ORDER BY table_id LIMIT 1", &[])? else {
        return Ok(());
    };
    let table = row.int(0)?;
    let last = "SELECT column_id, id FROM atsdb_map WHERE table_id = $1 ORDER BY column_id DESC, id DESC LIMIT 1";
    match connection.query_first(last, &[table.into()])? {
        Some(row) => {
            let sql = "DELETE FROM atsdb_map WHERE table_id = $1 AND column_id = $2 AND id > $3";
            connection.execute(sql, &[table.into(), row.int(0)?.into(), (row.int(1)? - row_limit(left)).into()])?;
        }
        None => {
            connection.execute("DELETE FROM atsdb_dropped WHERE table_id = $1", &[table.into()])?;
        }
    }
    Ok(())
}

fn row_limit(left: u64) -> i64 {
    (left / SMALL_ROW_BYTES).clamp(1, 1 << 20) as i64
}
