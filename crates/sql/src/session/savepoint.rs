//! `SAVEPOINT`, `RELEASE` and `ROLLBACK TO`: savepoints in the batch of a transaction.
//!
//! As in SQLite a savepoint outside of a transaction begins one, and its release commits it. As in PostgreSQL,
//! `ROLLBACK TO` undoes a failed statement, and the transaction continues.

use super::insert_runs::InsertRuns;
use super::open_transaction::{SavepointMark, Transaction, usable};
use super::state::Session;
use crate::run::answer::Answer;
use atsdb_core::{ErrorKind, Result, SearchPath};
use atsdb_dialect::text::errors::sql_error;

/// A statement about savepoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Savepoint {
    Set(String),
    Release(String),
    ReturnTo(String),
}

impl Savepoint {
    /// Parses a text, if it is a statement about savepoints.
    pub(super) fn of(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().take(6).collect();
        let capitals: Vec<String> = words.iter().map(|word| word.to_ascii_uppercase()).collect();
        let capitals: Vec<&str> = capitals.iter().map(String::as_str).collect();
        let name = |at: usize| words[at].trim_matches(['"', '`']).to_owned();
        match capitals.as_slice() {
            ["SAVEPOINT", _] => Some(Self::Set(name(1))),
            ["RELEASE", "SAVEPOINT", _] => Some(Self::Release(name(2))),
            ["RELEASE", _] => Some(Self::Release(name(1))),
            ["ROLLBACK", "TO", "SAVEPOINT", _] => Some(Self::ReturnTo(name(3))),
            ["ROLLBACK", "TO", _] => Some(Self::ReturnTo(name(2))),
            ["ROLLBACK", "TRANSACTION" | "WORK", "TO", "SAVEPOINT", _] => Some(Self::ReturnTo(name(4))),
            ["ROLLBACK", "TRANSACTION" | "WORK", "TO", _] => Some(Self::ReturnTo(name(3))),
            _ => None,
        }
    }
}

impl Session {
    /// The number of savepoints of the open transaction to which it can be rolled back.
    pub fn savepoint_count(&self) -> usize {
        self.transaction.lock().as_ref().map_or(0, |open| open.marks.len())
    }

    pub(super) fn savepoint(&self, savepoint: &Savepoint) -> Result<Answer> {
        let mut transaction = self.transaction.lock();
        let verb = match (savepoint, transaction.as_mut()) {
            (Savepoint::Set(name), None) => {
                let (batch, locks) = (self.batch(), self.locks.begin_transaction());
                let mut open = Transaction::begin(&self.engine, batch, true, self.search_path(), locks);
                open.set(name, self.search_path())?;
                *transaction = Some(open);
                "SAVEPOINT"
            }
            (Savepoint::Set(name), Some(open)) => {
                let done = open.set(name, self.search_path());
                open.note(done)?;
                "SAVEPOINT"
            }
            (_, None) => return Err(sql_error("no transaction is open").with_hint("SAVEPOINT name begins one")),
            (Savepoint::ReturnTo(name), Some(open)) => {
                let done = open.return_to(name);
                if let Some(path) = open.note(done)? {
                    self.temporary.set_search_path(path);
                }
                "ROLLBACK"
            }
            (Savepoint::Release(name), Some(open)) => {
                let left = open.close_runs().and_then(|()| open.batch.release_savepoint(name));
                let left = open.note(left)?;
                open.marks.truncate(left);
                if left == 0
                    && open.is_savepoint
                    && let Some(open) = transaction.take()
                {
                    drop(transaction);
                    self.commit_transaction(open)?;
                }
                "RELEASE"
            }
        };
        Ok(Answer::Done { verb, row_count: None })
    }
}

impl Transaction {
    /// Sets a savepoint, when the session has this search path.
    fn set(&mut self, name: &str, path: SearchPath) -> Result<()> {
        self.close_runs()?;
        self.batch.savepoint(name)?;
        let (index_count, path_after) = (self.indexes.len(), self.path_after.clone());
        self.marks.push(SavepointMark { index_count, path, path_after });
        Ok(())
    }

    /// Marks the transaction as failed if setting a savepoint failed, because later statements rely on it, and without
    /// it the wrong changes would be committed. An unknown name has no effect.
    fn note<T>(&mut self, done: Result<T>) -> Result<T> {
        self.failed |= done.as_ref().is_err_and(|error| error.kind() != ErrorKind::Sql);
        done
    }

    fn close_runs(&mut self) -> Result<()> {
        usable(self)?;
        let closed = self.runs.close(&mut self.batch);
        self.failed = closed.is_err();
        closed
    }

    /// Returns the search path that the session had at the savepoint.
    fn return_to(&mut self, name: &str) -> Result<Option<SearchPath>> {
        let left = self.batch.rollback_to_savepoint(name)?;
        // The waiting rows were added after the savepoint.
        self.runs = InsertRuns::default();
        self.failed = false;
        // What was read since, if only for the keys of rows, stays what the transaction sees.
        self.has_read |= self.batch.has_seen();
        self.marks.truncate(left);
        let mark = self.marks.last().cloned();
        self.indexes.truncate(mark.as_ref().map_or(0, |mark| mark.index_count));
        Ok(mark.map(|mark| {
            self.path_after = mark.path_after;
            mark.path
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn savepoints_are_written_in_many_ways() {
        let name = || "a1".to_owned();
        for (text, expected) in [
            ("savepoint a1", Savepoint::Set(name())),
            ("SAVEPOINT \"a1\"", Savepoint::Set(name())),
            ("RELEASE `a1`", Savepoint::Release(name())),
            ("release savepoint a1", Savepoint::Release(name())),
            ("ROLLBACK TO a1", Savepoint::ReturnTo(name())),
            ("rollback work to\n savepoint a1", Savepoint::ReturnTo(name())),
            ("ROLLBACK TRANSACTION TO a1", Savepoint::ReturnTo(name())),
        ] {
            assert_eq!(Savepoint::of(text), Some(expected), "{text}");
        }
        for text in ["SAVEPOINT", "ROLLBACK", "ROLLBACK WORK", "RELEASE", "COMMIT TO a"] {
            assert_eq!(Savepoint::of(text), None, "{text}");
        }
    }
}
