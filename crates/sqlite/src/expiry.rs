//! The observation of idle stages and old batch ids, by which a clock that is ahead is recognised.

use crate::error::Attempt;
use atsdb_core::clock_skew::{ExpiredEntries, OldestEntries};
use rusqlite::{Connection, OptionalExtension, params};

/// The row of `atsdb_lease` that records when expired entries were first observed. It is not a lease.
const OBSERVATION_ROW: &str = "idle stages";

/// Deletes an observation by a clock that is ahead of one that writes.
pub(crate) fn reset(connection: &Connection, now_ms: i64) -> Attempt<()> {
    let sql = "DELETE FROM atsdb_lease WHERE name = ?1 AND expires_ms > ?2";
    connection.prepare_cached(sql)?.execute(params![OBSERVATION_ROW, now_ms])?;
    Ok(())
}

/// Returns when expired entries were first observed, and the decision about them.
pub(crate) fn find(connection: &Connection, now_ms: i64) -> Attempt<(Option<i64>, ExpiredEntries)> {
    let since = "SELECT expires_ms FROM atsdb_lease WHERE name = ?1";
    let since_ms = connection.prepare_cached(since)?.query_row([OBSERVATION_ROW], |row| row.get(0)).optional()?;
    let oldest =
        |sql: &str| -> Attempt<Option<i64>> { Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?) };
    let oldest = OldestEntries {
        stage_touched_ms: oldest("SELECT min(touched_ms) FROM atsdb_stage")?,
        batch_committed_ms: oldest("SELECT min(committed_ms) FROM atsdb_batch")?,
    };
    Ok((since_ms, ExpiredEntries::observe(since_ms, oldest, now_ms)))
}

/// Records when expired entries were first observed.
pub(crate) fn record(connection: &Connection, before: Option<i64>, since: Option<i64>) -> Attempt<()> {
    match since {
        since if since == before => {}
        Some(since) => {
            let sql = "INSERT OR REPLACE INTO atsdb_lease (name, holder, expires_ms) VALUES (?1, '', ?2)";
            connection.prepare_cached(sql)?.execute(params![OBSERVATION_ROW, since])?;
        }
        None => {
            connection.prepare_cached("DELETE FROM atsdb_lease WHERE name = ?1")?.execute([OBSERVATION_ROW])?;
        }
    }
    Ok(())
}
