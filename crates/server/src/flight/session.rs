//! The session in which a statement runs: that of its transaction, or one of its own.

use super::context::Flight;
use super::error::{IntoStatus, StatusResult};
use super::handle::TransactionScope;
use super::transactions::Transaction;
use crate::access::caller::Caller;
use crate::shared::clock;
use crate::shared::permits::StatementPermit;
use crate::shared::phase::Phase;
use crate::shared::unknown_verb::explained;
use atsdb::sql::{Answer, Prepared, Session, Statement, VerbKind, verb_kind, verb_of};
use atsdb::{Error, ErrorKind, Result};
use std::ops::Deref;
use std::time::Duration;
use tokio::sync::OwnedMutexGuard;
use tonic::Status;

/// The maximum duration of a statement until its last row is sent, unless the server has a time limit.
const TIME_MAX: Duration = Duration::from_secs(600);

/// The session of one statement.
#[derive(Debug)]
pub(super) enum StatementSession {
    Own(Box<Session>),
    OfTransaction(OwnedMutexGuard<Transaction>),
}

impl Deref for StatementSession {
    type Target = Session;

    fn deref(&self) -> &Session {
        match self {
            Self::Own(session) => session,
            Self::OfTransaction(transaction) => &transaction.session,
        }
    }
}

impl StatementSession {
    /// The transaction in which the statement runs.
    pub(super) fn transaction(&mut self) -> Option<&mut Transaction> {
        match self {
            Self::Own(_) => None,
            Self::OfTransaction(transaction) => Some(transaction),
        }
    }

    /// Executes the only statement of a text, which has no parameters.
    pub(super) fn execute(&self, text: &str) -> Result<Answer> {
        Session::execute(self, &self.only_statement(text)?, &[])
    }

    /// Executes the only statement of a client's text.
    pub(super) fn execute_for_client(&self, text: &str) -> Result<Answer> {
        let statement = self.only_statement(text)?;
        refuse_bracket(&statement)?;
        Session::execute(self, &statement, &[]).map_err(|error| explained(error, &statement))
    }

    /// Prepares the only statement of a client's text.
    pub(super) fn prepare_for_client(&self, text: &str) -> Result<Prepared> {
        let statement = self.only_statement(text)?;
        refuse_bracket(&statement)?;
        self.prepare_statement(&statement, &[])
    }

    fn only_statement(&self, text: &str) -> Result<Statement> {
        let mut statements = self.statements(text);
        let none = || Error::new(ErrorKind::Sql, "there is no statement in the text");
        let statement = statements.next().ok_or_else(none)??;
        match statements.next() {
            None => Ok(statement),
            Some(_) => Err(Error::new(ErrorKind::Sql, "several statements cannot be executed as one")),
        }
    }

    /// Does work that consists of several statements: all of it is stored, or nothing. If it fails within a transaction
    /// of the client, that can only be rolled back.
    pub(super) fn all_or_nothing<T>(&mut self, work: impl FnOnce(&mut Self) -> StatusResult<T>) -> StatusResult<T> {
        match self.transaction() {
            // This also holds if the work panics.
            Some(transaction) => transaction.has_failed = true,
            None => drop(self.execute("BEGIN").or_status()?),
        }
        let done = work(self);
        match (self.transaction(), &done) {
            (Some(transaction), Ok(_)) => transaction.has_failed = false,
            (Some(_), Err(_)) => {}
            (None, Ok(_)) => drop(self.execute("COMMIT").or_status()?),
            // If the transaction is rolled back already, there is nothing to do.
            (None, Err(_)) => drop(self.execute("ROLLBACK")),
        }
        done
    }
}

/// Refuses a statement that begins or ends a transaction. Sessions without one are gone after a statement.
fn refuse_bracket(statement: &Statement) -> Result<()> {
    match verb_kind(&verb_of(statement.text())) {
        Some(VerbKind::Transaction) => {
            let message = "transactions are begun and ended by actions of Flight SQL, not by statements";
            Err(Error::new(ErrorKind::Sql, message).with_hint("switch the driver's autocommit mode off"))
        }
        _ => Ok(()),
    }
}

impl Drop for StatementSession {
    fn drop(&mut self) {
        if let Some(transaction) = self.transaction() {
            transaction.used = clock::now();
        }
    }
}

impl Flight {
    /// The session for a statement of a caller, and its permit. The session comes first: a statement that has the
    /// session of a transaction may wait for a permit, so none with a permit may wait for that session.
    pub(super) async fn admit(
        &self,
        caller: &Caller,
        scope: TransactionScope<'_>,
    ) -> StatusResult<(StatementSession, StatementPermit)> {
        let session = self.session(caller, scope).await?;
        let permit = self.permit(caller).await?;
        permit.follow_waits(&session);
        Ok((session, permit))
    }

    /// The session for a statement of a caller, with the caller's rights.
    pub(super) async fn session(&self, caller: &Caller, scope: TransactionScope<'_>) -> StatusResult<StatementSession> {
        let session = if scope.id.is_empty() {
            self.refuse_late()?;
            StatementSession::Own(Box::new(self.state().session_of(caller.user.as_deref())))
        } else {
            StatementSession::OfTransaction(self.transactions().enter(scope, caller.user.as_ref()).await?)
        };
        let permission = caller.role.permission();
        session.set_time_limit(self.state().statements().time_limit_of(permission).or(Some(TIME_MAX)));
        session.restrict(permission, caller.role.refusal());
        Ok(session)
    }

    /// Refuses new work while the server drains.
    pub(super) fn refuse_late(&self) -> StatusResult<()> {
        match self.state().phase().now() {
            Phase::Draining | Phase::Stopping => Err(Status::unavailable("the server is shutting down")),
            Phase::Starting | Phase::Ready => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::state::Access;
    use crate::flight::handle::StatementHandle;
    use crate::shared::log::{Log, LogLevel, LogOptions};
    use crate::shared::phase::PhaseOwner;
    use crate::shared::state::{DatabaseState, ServerState};
    use crate::shared::statement_options::StatementOptions;
    use tokio::runtime::Builder;

    #[test]
    fn a_notice_of_a_statement_is_logged() {
        let (_owner, follower) = PhaseOwner::new();
        let (log, written) = Log::in_memory(LogOptions { level: LogLevel::Info, ..LogOptions::default() });
        let server = ServerState::new(StatementOptions::default(), follower, log);
        let state = DatabaseState::new(&server, None, atsdb::open("memory:").unwrap()).unwrap();
        let flight = Flight::new(&state, &Access::open(&state).unwrap(), TIME_MAX);
        let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
        let text = "CREATE TABLE z (id INT PRIMARY KEY, deleted_at TIMESTAMP)";
        let handle = StatementHandle::new(text.to_owned(), None);
        runtime.block_on(flight.execute(&Caller::ANYBODY, handle)).unwrap();
        let written = written.text();
        assert!(written.contains("INFO notice protocol=flight notice=\"column deleted_at becomes"), "{written}");
    }

    #[test]
    fn a_statement_that_waits_for_its_transaction_has_no_permit() {
        let (_owner, follower) = PhaseOwner::new();
        let statements = StatementOptions { running_max: 1, ..StatementOptions::default() };
        let server = ServerState::new(statements, follower, Log::new(LogOptions::default()));
        let state = DatabaseState::new(&server, None, atsdb::open("memory:").unwrap()).unwrap();
        let flight = Flight::new(&state, &Access::open(&state).unwrap(), TIME_MAX);
        let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let id = flight.transactions().open(None, 1).unwrap();
            let scope = TransactionScope { id: &id, connection: 0 };
            let (session, permit) = flight.admit(&Caller::ANYBODY, scope).await.unwrap();
            // The statement waits for its client, so that others use its permit, and another one begins.
            drop(permit);
            let next = {
                let flight = flight.clone();
                tokio::spawn(async move {
                    let scope = TransactionScope { id: &id, connection: 0 };
                    flight.admit(&Caller::ANYBODY, scope).await.map(drop)
                })
            };
            tokio::time::sleep(Duration::from_millis(100)).await;
            let back = flight.permit(&Caller::ANYBODY).await;
            assert!(back.is_ok(), "a statement holds the only permit while it waits for the session of another one");
            drop((session, back));
            next.await.unwrap().unwrap();
        });
    }
}
