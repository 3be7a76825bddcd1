//! Group commit: changes that arrive while the store is committing are committed together by the next thread in the
//! queue.
//!
//! All changes of the engine to a store's tables go through here. Each must name the definition of every table that it
//! touches; this is checked here.

use atsdb_core::{Change, CommitOutcome, Error, Result, Store, Table, TableId};
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;

/// Commits changes in groups.
#[derive(Default)]
pub(crate) struct Committer {
    queue: Mutex<CommitQueue>,
    finished: Condvar,
}

/// The changes that wait for the store, and the results that wait for their threads.
#[derive(Default)]
struct CommitQueue {
    next_ticket: u64,
    waiting: Vec<(u64, Change)>,
    busy: bool,
    done: HashMap<u64, Result<CommitOutcome, RefusedChange>>,
}

/// A change that was not committed, and why.
pub(crate) struct RefusedChange {
    pub(crate) error: Error,
    pub(crate) change: Box<Change>,
}

impl RefusedChange {
    pub(crate) fn into_error(self) -> Error {
        self.error
    }
}

/// Refuses a change that touches a table, other than those it creates, without naming the version of its definition.
pub(crate) fn check_based_on(change: &Change, created: &[Table]) -> Result<()> {
    let Change { add, remove, drop, redefine, amend, .. } = change;
    let tables = add.iter().map(|chunk| chunk.table).chain(remove.iter().map(|(table, _)| *table));
    let tables = tables.chain(drop.iter().copied()).chain(redefine.iter().map(|redefinition| redefinition.table));
    let mut tables = tables.chain(amend.iter().map(|amendment| amendment.table));
    let is_named = |table: &TableId| {
        change.based_on.iter().any(|based_on| based_on.table == *table)
            || created.iter().any(|created| created.id == *table)
    };
    match tables.find(|table| !is_named(table)) {
        Some(table) => Err(Error::internal(format!("a change of table {} does not name its definition", table.0))),
        None => Ok(()),
    }
}

impl Committer {
    /// Commits a change, together with the changes of other threads that wait at the same time.
    pub(crate) fn commit(
        &self,
        store: &dyn Store,
        change: Change,
        now_ms: i64,
    ) -> Result<CommitOutcome, RefusedChange> {
        let lost = || Err(RefusedChange { error: lost(), change: Box::default() });
        self.commit_together(store, vec![change], now_ms).pop().unwrap_or_else(lost)
    }

    /// Commits changes together, and with those of other threads that wait at the same time. Each is applied or refused
    /// by itself; there is a result for each, in their order.
    pub(crate) fn commit_together(
        &self,
        store: &dyn Store,
        changes: Vec<Change>,
        now_ms: i64,
    ) -> Vec<Result<CommitOutcome, RefusedChange>> {
        if changes.is_empty() {
            return Vec::new();
        }
        let mut queue = self.queue.lock();
        let tickets = queue.next_ticket..queue.next_ticket + changes.len() as u64;
        queue.next_ticket = tickets.end;
        queue.waiting.extend(tickets.clone().zip(changes));
        loop {
            // The changes were queued at once, so they are committed by one thread.
            if queue.done.contains_key(&tickets.start) {
                return tickets.map(|ticket| queue.take(ticket)).collect();
            }
            if !queue.busy {
                break;
            }
            self.finished.wait(&mut queue);
        }
        queue.busy = true;
        let (numbers, changes): (Vec<u64>, Vec<Change>) = std::mem::take(&mut queue.waiting).into_iter().unzip();
        drop(queue);
        let _leader = Leader { committer: self };
        let results = commit_all(store, changes, now_ms);
        let mut queue = self.queue.lock();
        queue.done.extend(numbers.into_iter().zip(results));
        tickets.map(|ticket| queue.take(ticket)).collect()
    }
}

impl CommitQueue {
    /// The result of a change.
    fn take(&mut self, ticket: u64) -> Result<CommitOutcome, RefusedChange> {
        let lost = || Err(RefusedChange { error: lost(), change: Box::default() });
        self.done.remove(&ticket).unwrap_or_else(lost)
    }
}

fn lost() -> Error {
    Error::internal("a change was lost in the queue of commits")
}

/// Lets the next thread commit, even if the store panics.
struct Leader<'a> {
    committer: &'a Committer,
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        self.committer.queue.lock().busy = false;
        self.committer.finished.notify_all();
    }
}

fn commit_all(store: &dyn Store, changes: Vec<Change>, now_ms: i64) -> Vec<Result<CommitOutcome, RefusedChange>> {
    let results = match store.commit(&changes, now_ms) {
        Ok(results) if results.len() == changes.len() => results,
        Ok(_) => changes
            .iter()
            .map(|_| Err(Error::internal("the store returned another number of results than changes")))
            .collect(),
        Err(error) => changes.iter().map(|_| Err(error.duplicate())).collect(),
    };
    let refused = |(result, change): (Result<CommitOutcome>, Change)| {
        result.map_err(|error| RefusedChange { error, change: Box::new(change) })
    };
    results.into_iter().zip(changes).map(refused).collect()
}
