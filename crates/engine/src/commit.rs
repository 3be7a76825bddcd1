//! Group commit: changes that arrive while the store is committing are committed together by whoever is next.

use atsdb_core::{Change, Error, Outcome, Result, Store};
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
    done: HashMap<u64, Result<Outcome>>,
}

impl Committer {
    /// Commits a change, together with others' that wait at the same time.
    pub(crate) fn commit(&self, store: &dyn Store, change: Change, now_ms: i64) -> Result<Outcome> {
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
        let results = commit_all(store, &tickets, changes, now_ms);
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
        own.unwrap_or_else(|| Err(Error::internal("a change was lost in the line of commits")))
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

fn commit_all(store: &dyn Store, tickets: &[u64], changes: Vec<Change>, now_ms: i64) -> Vec<Result<Outcome>> {
    match store.commit(changes, now_ms) {
        Ok(results) if results.len() == tickets.len() => results,
        Ok(_) => tickets.iter().map(|_| Err(Error::internal("the store answered for other changes"))).collect(),
        Err(error) => tickets.iter().map(|_| Err(error.duplicate())).collect(),
    }
}
