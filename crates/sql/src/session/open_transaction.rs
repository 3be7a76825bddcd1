//! The open transaction: its batch, and whether it can continue.

use super::insert_runs::InsertRuns;
use atsdb_core::{Index, Result, SearchPath, Table};
use atsdb_dialect::functions::session::lock_table::OpenScope;
use atsdb_dialect::text::errors::sql_error;
use atsdb_engine::{Batch, Engine, SealingHold};

/// An open transaction.
pub(super) struct Transaction {
    pub(super) batch: Batch,
    /// Rows of `INSERT`s of literals that are not in the batch yet.
    pub(super) runs: InsertRuns,
    pub(super) failed: bool,
    /// Keeps its chunks from being sealed.
    hold: SealingHold,
    /// Whether it has read rows.
    pub(super) has_read: bool,
    /// Indexes for which existing chunks get pages after the commit.
    pub(super) indexes: Vec<(Table, Index)>,
    /// The state that a rollback to each savepoint restores.
    pub(super) marks: Vec<SavepointMark>,
    /// Whether the first savepoint began it. Releasing that savepoint then commits it.
    pub(super) is_savepoint: bool,
    /// The time at which it began, in microseconds since 1970: the current time of its statements.
    pub(super) began: i64,
    /// The session's search path when it began, which a rollback restores.
    pub(super) path_before: SearchPath,
    /// The session's search path after the commit, if another one holds until then.
    pub(super) path_after: Option<SearchPath>,
    /// Holds the advisory locks of the transaction until it ends.
    _lock_scope: OpenScope,
}

/// The state of the transaction when a savepoint was set.
#[derive(Clone)]
pub(super) struct SavepointMark {
    /// The number of indexes.
    pub(super) index_count: usize,
    /// The session's search path.
    pub(super) path: SearchPath,
    /// The session's search path after the commit, as in [`Transaction`].
    pub(super) path_after: Option<SearchPath>,
}

impl Transaction {
    /// Begins one that works on this batch of an engine.
    pub(super) fn begin(
        engine: &Engine,
        batch: Batch,
        is_savepoint: bool,
        path_before: SearchPath,
        lock_scope: OpenScope,
    ) -> Self {
        let (hold, runs) = (engine.hold(), InsertRuns::default());
        let (indexes, marks) = (Vec::new(), Vec::new());
        let began = engine.now_us();
        let (failed, has_read, path_after) = (false, false, None);
        Self {
            batch,
            runs,
            failed,
            hold,
            has_read,
            indexes,
            marks,
            is_savepoint,
            began,
            path_before,
            path_after,
            _lock_scope: lock_scope,
        }
    }
}

/// Prepares for a statement that may replace chunks. From now on no other process seals them, and if nothing has been
/// read yet, the transaction sees everything sealed until now.
pub(super) fn prepare_to_read(open: &mut Transaction) -> Result<()> {
    usable(open)?;
    open.hold.lease()?;
    if !std::mem::replace(&mut open.has_read, true) {
        let closed = open.runs.close(&mut open.batch);
        open.failed = closed.is_err();
        closed?;
        open.batch.refresh();
    }
    Ok(())
}

pub(super) fn in_transaction<T>(open: &mut Transaction, work: impl FnOnce(&mut Batch) -> Result<T>) -> Result<T> {
    usable(open)?;
    let closed = open.runs.close(&mut open.batch);
    open.failed = closed.is_err();
    closed?;
    let batch = &mut open.batch;
    // An existing key, and a parent that is missing, are errors of the statement that adds the row.
    let done = work(batch).and_then(|done| batch.end_statement().map(|()| done));
    open.failed = done.is_err();
    done
}

/// The batch, with all waiting rows added.
pub(super) fn flushed(open: &mut Transaction) -> Result<&mut Batch> {
    usable(open)?;
    let flushed = open.runs.flush(&mut open.batch);
    open.failed = flushed.is_err();
    flushed.map(|()| &mut open.batch)
}

pub(super) fn usable(open: &mut Transaction) -> Result<&mut Batch> {
    match open.failed {
        true => Err(sql_error("a statement of this transaction has failed").with_hint("ROLLBACK, and begin again")),
        false => Ok(&mut open.batch),
    }
}
