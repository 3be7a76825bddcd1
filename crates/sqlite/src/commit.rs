//! Committing changes: several in one transaction, each in its own savepoint. A single change needs no savepoint.

use crate::drop_table::drop_table;
use crate::error::{Attempt, Failure};
use crate::expiry;
use crate::split::placed_pages::PlacedPages;
use crate::writer::{SyncMode, WriteTransaction, Writer};
use crate::{amend, chunk_write, list_rows, redefine, stage, table};
use atsdb_core::list::ListChanges;
use atsdb_core::refusal;
use atsdb_core::{Amendment, BatchId, Change, ChunkGuard, CommitOutcome, NewChunk, Result};
use rusqlite::{Connection, OptionalExtension, params};

/// Whether a table has a chunk above a number. NOT INDEXED forces the primary key, so that only the newest rows are
/// read, not all of the table's.
const NEWER: &str = "SELECT 1 FROM atsdb_chunk NOT INDEXED WHERE id > ?1 AND table_id = ?2 AND stage IS NULL LIMIT 1";

/// Applies each change or refuses it; a failure of SQLite rolls all of them back. `placed` has the pages that were
/// written to page files for each change; it is empty in a store without page files.
pub(crate) fn commit(
    writer: &mut Writer,
    changes: &[Change],
    placed: &[PlacedPages],
    now_ms: i64,
) -> Attempt<Vec<Result<CommitOutcome>>> {
    match changes {
        [] => Ok(Vec::new()),
        [change] => {
            let nothing = PlacedPages::default();
            let placed = placed.first().unwrap_or(&nothing);
            match writer.transaction(SyncMode::Immediate, |connection| commit_one(connection, change, placed, now_ms)) {
                Err(Failure::Refused(error)) => Ok(vec![Err(error)]),
                done => Ok(vec![Ok(done?)]),
            }
        }
        changes => {
            writer.transaction(SyncMode::Immediate, |connection| commit_each(connection, changes, placed, now_ms))
        }
    }
}

fn commit_each(
    transaction: &WriteTransaction<'_>,
    changes: &[Change],
    placed: &[PlacedPages],
    now_ms: i64,
) -> Attempt<Vec<Result<CommitOutcome>>> {
    let nothing = PlacedPages::default();
    let mut outcomes = Vec::with_capacity(changes.len());
    for (position, change) in changes.iter().enumerate() {
        let placed = placed.get(position).unwrap_or(&nothing);
        transaction.prepare_cached("SAVEPOINT change")?.execute([])?;
        match commit_one(transaction, change, placed, now_ms) {
            Ok(outcome) => outcomes.push(Ok(outcome)),
            Err(Failure::Refused(error)) => {
                transaction.prepare_cached("ROLLBACK TO change")?.execute([])?;
                transaction.numbers.take();
                outcomes.push(Err(error));
            }
            // SQLite may have rolled back everything by itself, as it does on a full disk.
            Err(failure) => return Err(failure),
        }
        transaction.prepare_cached("RELEASE change")?.execute([])?;
    }
    Ok(outcomes)
}

/// Applies a change or refuses it. If it is refused, the caller must roll back.
fn commit_one(
    transaction: &WriteTransaction<'_>,
    change: &Change,
    placed: &PlacedPages,
    now_ms: i64,
) -> Attempt<CommitOutcome> {
    if change.batch.is_some() || !change.parts.is_empty() {
        expiry::reset(transaction, now_ms)?;
    }
    if let Some(batch) = &change.batch {
        if is_committed(transaction, batch)? {
            if let Some(stage) = change.stage {
                stage::abandon(transaction, stage)?;
            }
            return Ok(CommitOutcome::Duplicate);
        }
        record_id(transaction, batch, now_ms)?;
    }
    for part in &change.parts {
        if is_committed(transaction, part)? {
            return Err(refusal::part_exists(part).into());
        }
        record_id(transaction, part, now_ms)?;
    }
    change.add.iter().try_for_each(NewChunk::check)?;
    change.amend.iter().try_for_each(Amendment::check)?;
    change
        .based_on
        .iter()
        .try_for_each(|based_on| table::check_definition_version(transaction, based_on, change.stage))?;
    change.guards.iter().try_for_each(|guard| check_guard(transaction, guard, change))?;
    change.drop.iter().try_for_each(|table| drop_table(transaction, *table))?;
    redefine::redefine(transaction, &change.redefine)?;
    let mut removed = ListChanges::default();
    let mut required = None;
    for (table, chunk) in &change.remove {
        if required.replace(*table) != Some(*table) {
            table::require(transaction, *table, None)?;
        }
        chunk_write::remove(transaction, change, (*table, *chunk), &mut removed)?;
    }
    list_rows::record(transaction, &removed)?;
    for (position, amendment) in change.amend.iter().enumerate() {
        amend::amend(transaction, change, amendment, placed.amended_block(position))?;
    }
    if let Some(stage) = change.stage {
        stage::publish(transaction, stage)?;
    }
    chunk_write::insert(transaction, &change.add, placed, None)?;
    Ok(CommitOutcome::Committed)
}

/// Returns whether a batch with this id was committed before. If so, its row is rewritten unchanged: the process that
/// committed it may have been killed before it was on disk, and only a transaction that writes waits for the log.
fn is_committed(transaction: &WriteTransaction<'_>, batch: &BatchId) -> Attempt<bool> {
    let sql = "DELETE FROM atsdb_batch WHERE id = ?1 RETURNING committed_ms";
    let recorded =
        transaction.prepare_cached(sql)?.query_row([batch.as_str()], |row| row.get::<_, i64>(0)).optional()?;
    let Some(committed_ms) = recorded else { return Ok(false) };
    record_id(transaction, batch, committed_ms)?;
    Ok(true)
}

fn record_id(transaction: &WriteTransaction<'_>, batch: &BatchId, committed_ms: i64) -> Attempt<()> {
    let sql = "INSERT INTO atsdb_batch (id, committed_ms) VALUES (?1, ?2)";
    transaction.prepare_cached(sql)?.execute(params![batch.as_str(), committed_ms])?;
    Ok(())
}

/// Refuses a table with a newer chunk than the guard's newest one. A table in the change's stage has none yet.
fn check_guard(connection: &Connection, guard: &ChunkGuard, change: &Change) -> Attempt<()> {
    table::require(connection, guard.table, change.stage)?;
    if connection.prepare_cached(NEWER)?.exists(params![guard.newest.0, guard.table.0])? {
        return Err(refusal::rows_added(&change.table_name(guard.table)).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::NEWER;
    use crate::schema;
    use rusqlite::Connection;

    #[test]
    fn a_guard_walks_only_the_newest_chunks() {
        let connection = Connection::open_in_memory().unwrap();
        schema::create(&connection, None).unwrap();
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {NEWER}")).unwrap();
        let steps = plan.query_map([1, 1], |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        assert_eq!(steps, ["SEARCH atsdb_chunk USING INTEGER PRIMARY KEY (rowid>?)"]);
    }
}
