//! The observation of idle stages and old batch ids, by which a clock that is ahead is recognised.

use crate::connection::{Connection, Value};
use crate::error::Attempt;
use atsdb_core::clock_skew::{ExpiredEntries, OldestEntries};

/// The row of `atsdb_lease` that records when expired entries were first observed. It is not a lease.
pub(crate) const OBSERVATION_ROW: &[u8] = b"idle stages";

/// Deletes an observation by a clock that is ahead of one that writes.
pub(crate) fn reset(connection: &mut dyn Connection, now_ms: i64) -> Attempt<()> {
    let sql = "SELECT 1 FROM atsdb_lease WHERE name = $1 AND expires_ms > $2";
    // It locks nothing if there is nothing to delete.
    if connection.exists(sql, &[Value::Bytes(OBSERVATION_ROW), now_ms.into()])? {
        delete(connection, now_ms)?;
    }
    Ok(())
}

/// Deletes an observation by a clock that is ahead, which exists.
pub(crate) fn delete(connection: &mut dyn Connection, now_ms: i64) -> Attempt<()> {
    let sql = "DELETE FROM atsdb_lease WHERE name = $1 AND expires_ms > $2";
    connection.execute(sql, &[Value::Bytes(OBSERVATION_ROW), now_ms.into()])?;
    Ok(())
}

/// Returns when expired entries were first observed, and the decision about them.
pub(crate) fn find(connection: &mut dyn Connection, now_ms: i64) -> Attempt<(Option<i64>, ExpiredEntries)> {
    let since = "SELECT expires_ms FROM atsdb_lease WHERE name = $1";
    let since = connection.query_first(since, &[Value::Bytes(OBSERVATION_ROW)])?.map(|row| row.int(0)).transpose()?;
    let mut oldest =
        |sql: &str| -> Attempt<Option<i64>> { connection.query_first(sql, &[])?.map(|row| row.int(0)).transpose() };
    let oldest = OldestEntries {
        stage_touched_ms: oldest("SELECT touched_ms FROM atsdb_stage ORDER BY touched_ms LIMIT 1")?,
        batch_committed_ms: oldest("SELECT committed_ms FROM atsdb_batch ORDER BY committed_ms LIMIT 1")?,
    };
    Ok((since, ExpiredEntries::observe(since, oldest, now_ms)))
}

/// Records when expired entries were first observed. Returns false if another process was faster. Its clock may be
/// behind.
pub(crate) fn record(connection: &mut dyn Connection, before: Option<i64>, since: Option<i64>) -> Attempt<bool> {
    let name = Value::Bytes(OBSERVATION_ROW);
    let changed = match (before, since) {
        (before, since) if before == since => return Ok(true),
        (Some(before), Some(since)) => {
            let sql = "UPDATE atsdb_lease SET expires_ms = $1 WHERE name = $2 AND expires_ms = $3";
            connection.execute(sql, &[since.into(), name, before.into()])?
        }
        (Some(before), None) => {
            let sql = "DELETE FROM atsdb_lease WHERE name = $1 AND expires_ms = $2";
            connection.execute(sql, &[name, before.into()])?
        }
        (None, Some(since)) => {
            let sql = "INSERT INTO atsdb_lease (name, holder, expires_ms) VALUES ($1, $2, $3)";
            connection.execute(sql, &[name, Value::Bytes(b""), since.into()])?
        }
        (None, None) => return Ok(true),
    };
    Ok(changed > 0)
}
