//! Group commit: changes that arrive while the store is committing are committed together by the next thread in line.
//!
//! Everything that the engine does to a store's tables goes through here, and here it is checked that a change names the
//! definition of every table that it touches.

use atsdb_core::{Change, CommitOutcome, Error, Result, Store, Table, TableId};
use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The line of changes that wait for the store.
#[derive(Default)]
pub(crate) struct Committer {
    line: Mutex<Line>,
    turn: Condvar,
}

#[derive(Default)]
struct Line {
    next_ticket: u64,
    waiting: Vec<(u64, Change)>,
    busy: bool,
    done: HashMap<u64, Result<CommitOutcome, Refused>>,
}

/// A change that was not done, as it was given, and why.
pub(crate) struct Refused {
    pub(crate) error: Error,
    pub(crate) change: Box<Change>,
}

impl Refused {
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
    /// Commits a change, together with others' that wait at the same time.
    pub(crate) fn commit(&self, store: &dyn Store, change: Change, now_ms: i64) -> Result<CommitOutcome, Refused> {
        let mut line = self.lock();
        let ticket = line.next_ticket;
        line.next_ticket += 1;
        line.waiting.push((ticket, change));
        loop {
            if let Some(result) = line.done.remove(&ticket) {
                return result;
            }
            if !line.busy {
                break;
            }
            line = self.turn.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
        line.busy = true;
        let (tickets, changes): (Vec<u64>, Vec<Change>) = std::mem::take(&mut line.waiting).into_iter().unzip();
        drop(line);
        let _leader = Leader { committer: self };
        let results = commit_all(store, changes, now_ms);
        let mut own = None;
        let mut line = self.lock();
        for (done, result) in tickets.into_iter().zip(results) {
            if done == ticket {
                own = Some(result);
            } else {
                line.done.insert(done, result);
            }
        }
        drop(line);
        let lost = || Error::internal("a change was lost in the line of commits");
        own.unwrap_or_else(|| Err(Refused { error: lost(), change: Box::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the next one lead, also when the store panics.
struct Leader<'a> {
    committer: &'a Committer,
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        self.committer.lock().busy = false;
        self.committer.turn.notify_all();
    }
}

fn commit_all(store: &dyn Store, changes: Vec<Change>, now_ms: i64) -> Vec<Result<CommitOutcome, Refused>> {
    let results = match store.commit(&changes, now_ms) {
        Ok(results) if results.len() == changes.len() => results,
        Ok(_) => changes.iter().map(|_| Err(Error::internal("the store answered for other changes"))).collect(),
        Err(error) => changes.iter().map(|_| Err(error.duplicate())).collect(),
    };
    let refused = |(result, change): (Result<CommitOutcome>, Change)| {
        result.map_err(|error| Refused { error, change: Box::new(change) })
    };
    results.into_iter().zip(changes).map(refused).collect()
}
