//! The state that a connection and its statements share: a session, and whether its statements run in one transaction.

use crate::failure::{invalid_state, of_store, with_state};
use crate::rows::ResultTypes;
use adbc_core::CancelHandle;
use adbc_core::error::{Error, Result, Status};
use atsdb::ErrorKind;
use atsdb::sql::{Answer, Permission, Session, Statements, verb_of};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// An open store: the session whose threads and memory all connections share.
pub(crate) struct OpenStore {
    pub(crate) first: Session,
    /// The types of results, unless a connection says otherwise.
    pub(crate) types: ResultTypes,
}

/// The state that a connection and its statements share.
pub(crate) struct Link {
    store: Arc<OpenStore>,
    session: Arc<Session>,
    is_read_only: AtomicBool,
    is_autocommit: AtomicBool,
    /// Whether the running call was asked to stop. It is for calls that run more than one statement.
    is_cancelled: AtomicBool,
}

/// Stops the work of a connection.
pub(crate) struct Canceller(pub(crate) Arc<Link>);

impl CancelHandle for Canceller {
    fn try_cancel(&self) -> Result<()> {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
        self.0.session().interrupt_handle().interrupt();
        Ok(())
    }
}

impl Link {
    pub(crate) fn new(store: Arc<OpenStore>) -> Self {
        let session = Arc::new(store.first.sharing());
        let (is_read_only, is_cancelled) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { store, session, is_read_only, is_autocommit: AtomicBool::new(true), is_cancelled }
    }

    /// The types that the store's options give to results.
    pub(crate) fn types(&self) -> ResultTypes {
        self.store.types
    }

    /// The session.
    pub(crate) fn session(&self) -> Arc<Session> {
        Arc::clone(&self.session)
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.is_read_only.load(Ordering::Relaxed)
    }

    /// Refuses changes from now on, or allows them again.
    pub(crate) fn set_read_only(&self, read_only: bool) -> Result<()> {
        if self.session.in_transaction() {
            return Err(invalid_state("a connection cannot become read-only, or writable, within a transaction"));
        }
        self.is_read_only.store(read_only, Ordering::Relaxed);
        let permission = if read_only { Permission::Read } else { Permission::Define };
        self.session.restrict(permission, "the connection may only read");
        Ok(())
    }

    /// Sets the time limit of this connection's queries.
    pub(crate) fn set_time_limit(&self, time_limit: Duration) {
        self.session.set_time_limit(Some(time_limit));
    }

    /// The error for changes of a connection that is read-only.
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.is_read_only() {
            let kind = ErrorKind::ReadOnly;
            return Err(of_store(atsdb::Error::new(kind, "the connection may only read")));
        }
        Ok(())
    }

    pub(crate) fn is_autocommit(&self) -> bool {
        self.is_autocommit.load(Ordering::Relaxed)
    }

    /// Sets whether each statement is a separate transaction. Switching this on commits the open transaction.
    pub(crate) fn set_autocommit(&self, autocommit: bool) -> Result<()> {
        if autocommit && !self.is_autocommit() {
            self.end("COMMIT")?;
        }
        self.is_autocommit.store(autocommit, Ordering::Relaxed);
        Ok(())
    }

    /// Ends the transaction with `COMMIT` or `ROLLBACK`, for a connection that does not commit by itself.
    pub(crate) fn end_by_request(&self, verb: &str) -> Result<()> {
        if self.is_autocommit() {
            let message = format!("{verb} of a connection in autocommit mode");
            return Err(with_state(Status::InvalidState, "25P01", message));
        }
        self.end(verb)
    }

    fn end(&self, verb: &str) -> Result<()> {
        let session = self.session();
        if session.in_transaction() { execute(&session, verb).map(drop) } else { Ok(()) }
    }

    /// Begins a call: earlier requests to stop are forgotten, and so is the notice of an earlier call.
    pub(crate) fn begin_call(&self) {
        self.is_cancelled.store(false, Ordering::Relaxed);
        drop(self.session.take_notice());
    }

    /// Fails if the call was asked to stop.
    pub(crate) fn check_not_cancelled(&self) -> atsdb::Result<()> {
        if self.is_cancelled.load(Ordering::Relaxed) {
            return Err(atsdb::Error::new(ErrorKind::Interrupted, "the call was cancelled"));
        }
        Ok(())
    }

    /// Begins a transaction before a statement, if the connection does not commit by itself and none is open.
    /// Statements about transactions are executed unchanged. A connection that only reads has nothing to commit.
    pub(crate) fn begin_before(&self, statement: &str) -> Result<()> {
        const OTHERS: [&str; 6] = ["BEGIN", "START", "COMMIT", "END", "ROLLBACK", "CHECKPOINT"];
        let session = self.session();
        if self.is_autocommit()
            || self.is_read_only()
            || session.in_transaction()
            || OTHERS.contains(&verb_of(statement).as_str())
        {
            return Ok(());
        }
        execute(&session, "BEGIN").map(drop)
    }

    /// Does work of several statements, all or nothing: in the open transaction, or else in a new one.
    pub(crate) fn in_transaction<T>(&self, work: impl FnOnce(&Session) -> Result<T>) -> Result<T> {
        self.begin_before("")?;
        let session = self.session();
        if session.in_transaction() {
            return work(&session);
        }
        execute(&session, "BEGIN")?;
        let done = match work(&session) {
            Ok(done) => execute(&session, "COMMIT").map(|_| done),
            Err(error) => Err(error),
        };
        if done.is_err() && session.in_transaction() {
            execute(&session, "ROLLBACK")?;
        }
        done
    }
}

/// Executes one statement without parameters.
pub(crate) fn execute(session: &Session, statement: &str) -> Result<Answer> {
    let parsed = Statements::new(statement).next().ok_or_else(no_statement)?.map_err(of_store)?;
    session.execute(&parsed, &[]).map_err(of_store)
}

/// The error for a text without a statement.
pub(crate) fn no_statement() -> Error {
    of_store(atsdb::Error::new(ErrorKind::Sql, "there is no statement in the text"))
}
