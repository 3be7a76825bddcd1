//! Committing changes: many in one transaction, each in its own savepoint.

use crate::error::{Attempt, Failure};
use crate::{chunk_write, stage, table};
use atsdb_core::{Change, Outcome, Result};
use rusqlite::{Connection, params};

/// Does each change or refuses it; a failure of SQLite undoes them all.
pub(crate) fn commit(connection: &Connection, changes: &[Change], now_ms: i64) -> Attempt<Vec<Result<Outcome>>> {
    let mut outcomes = Vec::with_capacity(changes.len());
    for change in changes {
        connection.prepare_cached("SAVEPOINT change")?.execute([])?;
        match apply(connection, change, now_ms) {
            Ok(outcome) => outcomes.push(Ok(outcome)),
            Err(Failure::Refused(error)) => {
                connection.prepare_cached("ROLLBACK TO change")?.execute([])?;
                outcomes.push(Err(error));
            }
            // SQLite may have rolled back everything by itself: a full disk does that.
            Err(failure) => return Err(failure),
        }
        connection.prepare_cached("RELEASE change")?.execute([])?;
    }
    Ok(outcomes)
}

fn apply(connection: &Connection, change: &Change, now_ms: i64) -> Attempt<Outcome> {
    if let Some(batch) = &change.batch {
        if connection.prepare_cached("SELECT 1 FROM atsdb_batch WHERE id = ?1")?.exists([batch.as_str()])? {
            if let Some(stage) = change.stage {
                stage::abandon(connection, stage)?;
            }
            return Ok(Outcome::Duplicate);
        }
        connection
            .prepare_cached("INSERT INTO atsdb_batch (id, committed_ms) VALUES (?1, ?2)")?
            .execute(params![batch.as_str(), now_ms])?;
    }
    change.add.iter().try_for_each(chunk_write::check)?;
    if let Some(stage) = change.stage {
        stage::publish(connection, stage)?;
    }
    for (table, chunk) in &change.remove {
        table::require(connection, *table, None)?;
        chunk_write::remove(connection, *table, *chunk)?;
    }
    chunk_write::insert(connection, &change.add, None)?;
    Ok(Outcome::Committed)
}
