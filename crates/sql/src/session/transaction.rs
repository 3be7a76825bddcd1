//! `BEGIN`, `COMMIT` and `ROLLBACK`: one batch of the engine that several statements work on. A statement outside of a
//! transaction has its own batch. After a statement has failed in a transaction, half of its work may be in the batch.
//! The transaction then refuses further statements and can only be rolled back, as a whole or to a savepoint.

use super::open_transaction::{Transaction, flushed, in_transaction, prepare_to_read, usable};
use super::savepoint::Savepoint;
use super::state::Session;
use crate::run::answer::Answer;
use crate::run::query::DefinitionScope;
use atsdb_core::{CurrentTimes, Error, ErrorKind, Index, Result, Table};
use atsdb_dialect::text::errors::{not_supported, sql_error};
use atsdb_dialect::text::table_names::{NamedSchema, TableName};
use atsdb_engine::{Batch, ReadSnapshot};
use std::sync::Arc;

/// The maximum number of attempts at a statement while others change the same chunks.
const ATTEMPTS_MAX: usize = 100;

/// A statement about transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TransactionStatement {
    Begin,
    Commit,
    Rollback,
    /// A statement about a savepoint.
    Savepoint(Savepoint),
}

impl TransactionStatement {
    /// Parses a text, if it is a statement about transactions.
    pub(super) fn of(text: &str) -> Result<Option<Self>> {
        if let Some(savepoint) = Savepoint::of(text) {
            return Ok(Some(Self::Savepoint(savepoint)));
        }
        let words: Vec<String> = text.split_whitespace().take(5).map(str::to_ascii_uppercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let found = match words.as_slice() {
            ["BEGIN", rest @ ..] => match rest {
                // These take locks in SQLite. No lock is needed here, because conflicts are detected at COMMIT.
                ["DEFERRED" | "IMMEDIATE" | "EXCLUSIVE", rest @ ..] | rest => (Self::Begin, rest),
            },
            ["START", "TRANSACTION", rest @ ..] => (Self::Begin, rest),
            ["COMMIT" | "END", rest @ ..] => (Self::Commit, rest),
            ["ROLLBACK", rest @ ..] => (Self::Rollback, rest),
            _ => return Ok(None),
        };
        match found {
            (bracket, [] | ["TRANSACTION" | "WORK"]) => Ok(Some(bracket)),
            (_, rest) => Err(not_supported(rest.join(" ")).with_hint("write BEGIN, COMMIT or ROLLBACK alone")),
        }
    }
}

impl Session {
    /// Returns whether a transaction is open.
    pub fn in_transaction(&self) -> bool {
        self.transaction.lock().is_some()
    }

    /// Refuses a statement about an index that PostgreSQL does not run in a transaction.
    pub(super) fn refuse_in_transaction(&self, what: &str) -> Result<()> {
        match self.in_transaction() {
            true => Err(sql_error(format!("{what} cannot run inside a transaction block"))
                .with_hint("leave CONCURRENTLY out: an index blocks nobody")),
            false => Ok(()),
        }
    }

    pub(super) fn bracket(&self, bracket: TransactionStatement) -> Result<Answer> {
        if let TransactionStatement::Savepoint(savepoint) = &bracket {
            return self.savepoint(savepoint);
        }
        let mut transaction = self.transaction.lock();
        let verb = match (bracket, transaction.take()) {
            (TransactionStatement::Begin, Some(open)) => {
                *transaction = Some(open);
                return Err(sql_error("a transaction is already open").with_hint("COMMIT or ROLLBACK it first"));
            }
            (TransactionStatement::Begin, None) => {
                let (batch, locks) = (self.batch(), self.locks.begin_transaction());
                *transaction = Some(Transaction::begin(&self.engine, batch, false, self.search_path(), locks));
                "BEGIN"
            }
            (_, None) => return Err(sql_error("no transaction is open").with_hint("BEGIN one first")),
            (TransactionStatement::Rollback | TransactionStatement::Savepoint(_), Some(open)) => {
                self.temporary.set_search_path(open.path_before);
                "ROLLBACK"
            }
            (TransactionStatement::Commit, Some(open)) if open.failed => {
                self.temporary.set_search_path(open.path_before);
                return Err(sql_error("the transaction had failed and is rolled back; nothing is stored"));
            }
            (TransactionStatement::Commit, Some(open)) => {
                drop(transaction);
                self.commit_transaction(open)?;
                "COMMIT"
            }
        };
        Ok(Answer::Done { verb, row_count: None })
    }

    pub(super) fn commit_transaction(&self, mut open: Transaction) -> Result<()> {
        let (before, after) = (open.path_before.clone(), open.path_after.take());
        let committed = self.commit_batch(open);
        let path = if committed.is_ok() { after } else { Some(before) };
        path.into_iter().for_each(|path| self.temporary.set_search_path(path));
        committed
    }

    fn commit_batch(&self, mut open: Transaction) -> Result<()> {
        let rolled_back = |error: Error| error.context("the transaction is rolled back");
        open.runs.close(&mut open.batch).map_err(rolled_back)?;
        open.batch.end_transaction()?;
        open.batch.commit_unrepeated().map_err(|error| match error.kind() {
            ErrorKind::Conflict => error
                .context("the transaction is rolled back, because another writer changed the same data")
                .with_hint("retry it from BEGIN on"),
            _ => rolled_back(error),
        })?;
        self.build_after_commit(&open.indexes);
        Ok(())
    }

    /// Builds the indexes that the transaction declared. It is durable already, so no failure may become one of COMMIT:
    /// a client would repeat the transaction. An index that is not complete only prunes less.
    fn build_after_commit(&self, indexes: &[(Table, Index)]) {
        for (table, index) in indexes {
            match self.engine.build_index(table, index) {
                Ok(_) => {}
                // It was dropped after it had been declared, in the transaction or since.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    *self.notice.lock() = Some(format!(
                        "the transaction is committed, but not all rows are indexed, and the others are found by \
                         reading: {error}"
                    ));
                }
            }
        }
    }

    /// The state that a statement reads, which is the transaction's or the store's, and the definitions that it sees.
    pub(super) fn snapshot(&self) -> Result<(ReadSnapshot, DefinitionScope)> {
        match self.transaction.lock().as_mut() {
            Some(open) => {
                open.has_read = true;
                Ok((flushed(open)?.snapshot()?, DefinitionScope::Transaction))
            }
            None => self.committed(),
        }
    }

    /// The state for a query that reads no table. A transaction that has read nothing yet stays so: if it waits for an
    /// advisory lock first, it sees what others have committed until then.
    pub(super) fn passing_snapshot(&self) -> Result<(ReadSnapshot, DefinitionScope)> {
        match self.transaction.lock().as_mut() {
            Some(open) if !open.has_read => {
                let snapshot = flushed(open)?.snapshot()?;
                open.batch.refresh();
                Ok((snapshot, DefinitionScope::Transaction))
            }
            Some(open) => Ok((flushed(open)?.snapshot()?, DefinitionScope::Transaction)),
            None => self.committed(),
        }
    }

    /// The state and the definitions for a statement that is only planned and reads no rows.
    pub(super) fn snapshot_for_planning(&self) -> Result<(ReadSnapshot, DefinitionScope)> {
        match self.transaction.lock().as_mut() {
            Some(open) => Ok((flushed(open)?.snapshot()?, DefinitionScope::Transaction)),
            None => self.committed(),
        }
    }

    /// The committed state. Temporary tables are definitions that other sessions do not see, as those of a transaction.
    fn committed(&self) -> Result<(ReadSnapshot, DefinitionScope)> {
        let scope = match self.temporary.is_empty() {
            true => DefinitionScope::Committed,
            false => DefinitionScope::Transaction,
        };
        Ok((self.engine.snapshot()?.with_temporary(&self.temporary), scope))
    }

    /// Sets the current times of a statement that begins now. In a transaction, its time is the current one.
    pub(super) fn begin_times(&self) {
        let statement = self.engine.now_us();
        let mut times = CurrentTimes::at(statement);
        if let Some(open) = self.transaction.lock().as_mut() {
            times.transaction = open.began;
            open.batch.set_times(times);
        }
        self.interrupt.set_times(times);
    }

    /// A batch for one statement.
    pub(super) fn batch(&self) -> Batch {
        let mut batch = self.engine.batch(None).with_temporary(&self.temporary).with_numbers(&self.numbers);
        if let Some(times) = self.interrupt.times() {
            batch.set_times(times);
        }
        batch
    }

    /// The tables that a statement sees, including those declared in the open transaction. Temporary tables come first:
    /// of two tables with the same name, the first one is meant.
    pub fn tables(&self) -> Result<Vec<Table>> {
        match self.transaction.lock().as_mut() {
            Some(open) => usable(open)?.tables(),
            None => Ok(self.temporary.tables().into_iter().chain(self.engine.tables()?).collect()),
        }
    }

    /// The table with a name in a schema or, if none is given, on the search path, as this process has seen it last.
    /// This does not read the store, so the table may have been changed or dropped since.
    pub fn last_seen(&self, schema: Option<&str>, name: &str) -> Option<Arc<Table>> {
        let (name, path) = (TableName::of_parts(schema, name), self.search_path());
        if let Some(open) = self.transaction.lock().as_mut() {
            return name.find_by(&path, &usable(open).ok()?.tables().ok()?).cloned().map(Arc::new);
        }
        name.schemas(&path).into_iter().find_map(|schema| match schema {
            NamedSchema::Temporary => name.find_by(&path, &self.temporary.tables()).cloned().map(Arc::new),
            NamedSchema::Public => self.engine.table_seen(None, &name.name),
            NamedSchema::Other(schema) => self.engine.table_seen(Some(&schema), &name.name),
            NamedSchema::Unsaid => None,
        })
    }

    /// Runs a function that cannot be repeated, in the transaction or in a separate batch.
    pub(super) fn with_batch<T>(&self, work: impl FnOnce(&mut Batch) -> Result<T>) -> Result<T> {
        match self.transaction.lock().as_mut() {
            Some(open) => in_transaction(open, work),
            None => {
                let mut batch = self.batch();
                let done = work(&mut batch)?;
                batch.commit()?;
                Ok(done)
            }
        }
    }

    /// Runs a function that depends on existing rows, in the transaction or in a separate batch. In a separate batch it
    /// is retried if others change these rows in the meantime.
    pub(super) fn with_batch_retried<T>(&self, mut work: impl FnMut(&mut Batch) -> Result<T>) -> Result<T> {
        if let Some(open) = self.transaction.lock().as_mut() {
            let prepared = prepare_to_read(open);
            open.failed |= prepared.is_err();
            prepared?;
            return in_transaction(open, work);
        }
        self.retried(|| {
            let mut batch = self.batch();
            let done = work(&mut batch)?;
            batch.commit().map(|_| done)
        })
    }

    /// Runs work that depends on existing rows, and retries it if others change these rows in the meantime. In a
    /// transaction it is not retried: the conflict is reported by COMMIT.
    pub(super) fn retried<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<T> {
        for _ in 0..ATTEMPTS_MAX {
            match work() {
                Err(error) if error.kind() == ErrorKind::Conflict && !self.in_transaction() => {
                    self.interrupt.check()?;
                }
                done => return done,
            }
        }
        Err(Error::new(ErrorKind::Conflict, "other writers keep changing the table").with_hint("retry"))
    }

    /// Adds pages of new indexes to existing chunks: now, or after the transaction is committed.
    pub(super) fn build(&self, table: &Table, indexes: &[Index]) -> Result<()> {
        match self.transaction.lock().as_mut() {
            Some(open) => {
                open.indexes.extend(indexes.iter().map(|index| (table.clone(), index.clone())));
                Ok(())
            }
            None => indexes.iter().try_for_each(|index| self.engine.build_index(table, index).map(drop)),
        }
    }

    /// Marks the open transaction as failed, after a change of which only some steps were done: it refuses further
    /// statements, and can only be rolled back.
    pub fn fail_transaction(&self) {
        if let Some(open) = self.transaction.lock().as_mut() {
            open.failed = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_written_in_many_ways() {
        let of = |text| TransactionStatement::of(text).unwrap();
        for text in
            ["begin", "BEGIN TRANSACTION", "begin exclusive transaction", "BEGIN IMMEDIATE", "start transaction"]
        {
            assert_eq!(of(text), Some(TransactionStatement::Begin), "{text}");
        }
        assert_eq!(of("COMMIT WORK"), Some(TransactionStatement::Commit));
        assert_eq!(of("end\n transaction"), Some(TransactionStatement::Commit));
        assert_eq!(of("rollback"), Some(TransactionStatement::Rollback));
        assert_eq!(of("select 1"), None);
        assert!(TransactionStatement::of("begin concurrent").is_err());
    }
}
