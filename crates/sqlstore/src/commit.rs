//! Committing changes: several in one transaction, each in its own savepoint. A single change needs no savepoint. If
//! the server has no savepoints, a refused change ends the transaction.

use crate::chunk_write::{self, Payloads};
use crate::connection::{Connection, Server, Value};
use crate::drop_table::drop_table;
use crate::error::{Attempt, Failure};
use crate::expiry;
use crate::number_allocation::ChangeLock;
use crate::{amend, list_rows, redefine, stage, table};
use atsdb_core::list::ListChanges;
use atsdb_core::refusal;
use atsdb_core::{Amendment, BatchId, Change, ChunkGuard, CommitOutcome, Error, NewChunk, Result};

/// Whether a table has a chunk above a number.
const NEWER: &str = "SELECT 1 FROM atsdb_chunk WHERE id > $1 AND table_id = $2 AND stage = 0 LIMIT 1";

/// Selects whether an id was recorded, and whether a clock that is ahead has observed expired entries. It is one query,
/// since each takes a round trip to the server.
const RECORDED: &str = "SELECT (SELECT count(*) FROM atsdb_batch WHERE id = $1),
                        (SELECT count(*) FROM atsdb_lease WHERE name = $2 AND expires_ms > $3)";

/// Applies each change or refuses it; a failure of the server rolls all of them back. `payloads` are the payload
/// numbers of the chunks that they add. Pages, which take long, are sent before the lock is taken. `at` is set to the
/// change that is being applied: if it is refused and cannot be rolled back alone, all are.
pub(crate) fn commit(
    connection: &mut dyn Connection,
    server: &dyn Server,
    changes: &[&Change],
    payloads: &Payloads,
    at: &mut usize,
    now_ms: i64,
) -> Attempt<Vec<Result<CommitOutcome>>> {
    let mut payloads = payloads.clone();
    let mut work = Vec::with_capacity(changes.len());
    for change in changes {
        let payloads = payloads.split_off(change.add.len());
        // A contradictory change is refused below.
        let sent = change.add.iter().try_for_each(NewChunk::check).is_ok();
        if sent {
            chunk_write::insert_pages(connection, server, &change.add, &payloads)?;
        }
        work.push((change, payloads, sent));
    }
    let savepoints = changes.len() > 1 && server.has_savepoints();
    let mut lock = ChangeLock::acquire(connection)?;
    let mut outcomes = Vec::with_capacity(changes.len());
    for (position, (change, payloads, sent)) in work.iter().enumerate() {
        *at = position;
        if savepoints {
            lock.connection.run("SAVEPOINT change_of_many")?;
        }
        let outcome = match commit_one(&mut lock, server, change, payloads, now_ms) {
            Ok(outcome) => Ok(outcome),
            Err(Failure::Refused(error)) if savepoints => {
                lock.connection.run("ROLLBACK TO SAVEPOINT change_of_many")?;
                Err(error)
            }
            Err(failure) => return Err(failure),
        };
        if *sent && !matches!(outcome, Ok(CommitOutcome::Committed)) {
            chunk_write::delete_pages(lock.connection, &change.add, payloads)?;
        }
        if savepoints {
            lock.connection.run("RELEASE SAVEPOINT change_of_many")?;
        }
        outcomes.push(outcome);
    }
    lock.record()?;
    Ok(outcomes)
}

/// Applies a change or refuses it. If it is refused, the caller must roll back.
fn commit_one(
    lock: &mut ChangeLock<'_>,
    server: &dyn Server,
    change: &Change,
    payloads: &Payloads,
    now_ms: i64,
) -> Attempt<CommitOutcome> {
    if let Some(batch) = &change.batch
        && !record_id(lock, batch, now_ms)?
    {
        if let Some(stage) = change.stage {
            stage::abandon(lock.connection, stage)?;
        }
        return Ok(CommitOutcome::Duplicate);
    }
    for part in &change.parts {
        if !record_id(lock, part, now_ms)? {
            return Err(refusal::part_exists(part).into());
        }
    }
    change.add.iter().try_for_each(NewChunk::check)?;
    change.amend.iter().try_for_each(Amendment::check)?;
    change
        .based_on
        .iter()
        .try_for_each(|based_on| table::check_definition_version(lock.connection, based_on, change.stage))?;
    change.guards.iter().try_for_each(|guard| check_guard(lock.connection, guard, change))?;
    change.drop.iter().try_for_each(|table| drop_table(lock.connection, *table))?;
    redefine::redefine(lock.connection, &change.redefine)?;
    let (mut required, mut taken) = (None, ListChanges::default());
    for (table, chunk) in &change.remove {
        if required != Some(table) {
            table::require(lock.connection, *table, None)?;
            required = Some(table);
        }
        chunk_write::remove(lock.connection, change, (*table, *chunk), &mut taken)?;
    }
    list_rows::record(lock.connection, &taken)?;
    change.amend.iter().try_for_each(|amendment| amend::amend(lock.connection, server, change, amendment))?;
    if let Some(stage) = change.stage {
        stage::publish(lock, stage)?;
    }
    let first_id = lock.allocate(change.add.len());
    chunk_write::insert(lock.connection, &change.add, payloads, first_id, None)?;
    Ok(CommitOutcome::Committed)
}

/// Records the id of a batch; false if it was committed before. In either case, an observation by a clock that is ahead
/// is deleted.
fn record_id(lock: &mut ChangeLock<'_>, batch: &BatchId, now_ms: i64) -> Attempt<bool> {
    let id = Value::Bytes(batch.as_str().as_bytes());
    let row = lock.connection.query_first(RECORDED, &[id, Value::Bytes(expiry::OBSERVATION_ROW), now_ms.into()])?;
    let row = row.ok_or_else(|| Error::internal("the server has counted nothing"))?;
    if row.int(1)? > 0 {
        expiry::delete(lock.connection, now_ms)?;
    }
    if row.int(0)? > 0 {
        return Ok(false);
    }
    lock.connection.execute("INSERT INTO atsdb_batch (id, committed_ms) VALUES ($1, $2)", &[id, now_ms.into()])?;
    Ok(true)
}

/// Refuses a table with a newer chunk than the guard's newest one. A table in the change's stage has none yet.
fn check_guard(connection: &mut dyn Connection, guard: &ChunkGuard, change: &Change) -> Attempt<()> {
    table::require(connection, guard.table, change.stage)?;
    if connection.exists(NEWER, &[guard.newest.0.into(), guard.table.0.into()])? {
        return Err(refusal::rows_added(&change.table_name(guard.table)).into());
    }
    Ok(())
}
