//! Open transactions. A client names its transaction by 128 random bits, and only its user may use it. One without a
//! statement costs a session and nothing in the store: it begins with its first statement.

use super::error::{IntoStatus, StatusResult};
use super::handle::TransactionScope;
use crate::shared::clock;
use crate::shared::phase::Work;
use crate::shared::running::Sender;
use crate::shared::state::DatabaseState;
use atsdb::sql::Session;
use atsdb::{Environment, SystemEnvironment};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, watch};
use tonic::Status;

/// The maximum number of transactions.
const OPEN_MAX: usize = 10_000;

/// The maximum time that a transaction may stay unused after its first statement, and before it. Drivers begin a
/// transaction as soon as they connect, and keep it until there is a statement.
const IDLE_MAX: Duration = Duration::from_secs(600);
const UNBEGUN_MAX: Duration = Duration::from_secs(24 * 3_600);

/// The message for committing a transaction that has failed.
const FAILED: &str = "the transaction had failed and is rolled back; nothing is stored";

type Id = [u8; 16];

/// The open transactions. Clones are the same ones.
#[derive(Debug, Clone)]
pub(super) struct Transactions(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: DatabaseState,
    open: Mutex<BTreeMap<Id, Open>>,
    /// The number of transactions that have begun.
    begun_count: watch::Sender<usize>,
}

#[derive(Debug)]
struct Open {
    /// The connection over which it was opened.
    connection: u64,
    user: Option<Arc<str>>,
    session: Arc<AsyncMutex<Transaction>>,
}

/// A transaction's session.
#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) session: Session,
    /// Whether a request was executed in part only, so that nothing of the transaction may be stored.
    pub(super) has_failed: bool,
    /// The time of its last use.
    pub(super) used: Instant,
    /// Whether it was committed or rolled back. A request that waited for its session must not begin it anew.
    is_over: bool,
    begun: Option<Begun>,
}

/// A transaction that has begun in the store.
#[derive(Debug)]
struct Begun {
    _work: Work,
    count: watch::Sender<usize>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.count.send_modify(|count| *count -= 1);
    }
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Commit,
    Rollback,
}

impl Transactions {
    pub(super) fn new(state: &DatabaseState) -> Self {
        let begun_count = watch::Sender::new(0);
        Self(Arc::new(Inner { state: state.clone(), open: Mutex::default(), begun_count }))
    }

    /// Opens a transaction, and returns its name.
    pub(super) fn open(&self, user: Option<&Arc<str>>, connection: u64) -> StatusResult<Id> {
        self.expire();
        let id = SystemEnvironment.random().or_status()?;
        let mut open = self.0.open.lock();
        if open.len() >= OPEN_MAX {
            return Err(Status::resource_exhausted("too many transactions are open"));
        }
        let session = self.0.state.session_of(user.map(AsRef::as_ref));
        let transaction = Transaction { session, has_failed: false, used: clock::now(), is_over: false, begun: None };
        open.insert(id, Open { connection, user: user.cloned(), session: Arc::new(AsyncMutex::new(transaction)) });
        Ok(id)
    }

    /// The session of a user's transaction, which begins if this is its first statement. If another statement uses it,
    /// waits for a while.
    pub(super) async fn enter(
        &self,
        scope: TransactionScope<'_>,
        user: Option<&Arc<str>>,
    ) -> StatusResult<OwnedMutexGuard<Transaction>> {
        self.expire();
        let found = self.find(scope.id, user).or_else(|| self.find_next(scope.connection, user));
        let session = found.ok_or_else(ended)?;
        let mut entered = self.wait(session).await?;
        if entered.is_over {
            return Err(ended());
        }
        if entered.has_failed {
            return Err(Status::failed_precondition("the transaction has failed: roll it back"));
        }
        if entered.begun.is_none() {
            self.0.begun_count.send_modify(|count| *count += 1);
            let begun = Begun { _work: self.0.state.phase().work(), count: self.0.begun_count.clone() };
            execute(&entered.session, "BEGIN").or_status()?;
            entered.begun = Some(begun);
        }
        Ok(entered)
    }

    /// Ends a transaction. Rolling back one that no longer exists succeeds: its changes are not stored.
    pub(super) async fn end(&self, id: &[u8], user: Option<&Arc<str>>, ending: Ending) -> StatusResult<()> {
        self.expire();
        let session = match (self.find(id, user), ending) {
            (Some(session), _) => session,
            (None, Ending::Rollback) => return Ok(()),
            (None, Ending::Commit) => return Err(ended()),
        };
        let mut entered = self.wait(session).await?;
        // Another request may have ended it in the meantime.
        if entered.is_over {
            return if ending == Ending::Rollback { Ok(()) } else { Err(ended()) };
        }
        entered.is_over = true;
        self.forget(id);
        let Some(begun) = entered.begun.take() else { return Ok(()) };
        let (state, user) = (self.0.state.clone(), user.cloned());
        let done = tokio::task::spawn_blocking(move || {
            let _held = begun;
            let commits = ending == Ending::Commit && !entered.has_failed;
            execute(&entered.session, if commits { "COMMIT" } else { "ROLLBACK" }).or_status()?;
            if let Some(notice) = entered.session.take_notice() {
                let sender = Sender { protocol: "flight", user: user.as_deref(), process: None };
                state.running().log_notice(sender, &notice);
            }
            match ending {
                Ending::Commit if entered.has_failed => Err(Status::aborted(FAILED)),
                _ => Ok(()),
            }
        });
        done.await.map_err(|error| Status::internal(error.to_string()))?
    }

    /// Waits until no transaction has begun.
    pub(super) async fn none_begun(&self) {
        // The sender lives as long as this.
        let _ = self.0.begun_count.subscribe().wait_for(|count| *count == 0).await;
    }

    /// A user's transaction with this name.
    fn find(&self, id: &[u8], user: Option<&Arc<str>>) -> Option<Arc<AsyncMutex<Transaction>>> {
        let open = self.0.open.lock();
        let found = open.get(&Id::try_from(id).ok()?).filter(|open| open.user.as_ref() == user);
        found.map(|open| Arc::clone(&open.session))
    }

    /// The only transaction that a user has opened over a connection.
    fn find_next(&self, connection: u64, user: Option<&Arc<str>>) -> Option<Arc<AsyncMutex<Transaction>>> {
        let open = self.0.open.lock();
        let is_next = |open: &&Open| connection != 0 && open.connection == connection && open.user.as_ref() == user;
        let mut found = open.values().filter(is_next);
        let next = found.next().map(|open| Arc::clone(&open.session));
        next.filter(|_| found.next().is_none())
    }

    async fn wait(&self, session: Arc<AsyncMutex<Transaction>>) -> StatusResult<OwnedMutexGuard<Transaction>> {
        let hold_time = self.0.state.statements().hold_time;
        let entered = tokio::time::timeout(hold_time, session.lock_owned()).await;
        entered.map_err(|_| Status::failed_precondition("another statement of the transaction is still running"))
    }

    fn forget(&self, id: &[u8]) {
        if let Ok(id) = Id::try_from(id) {
            self.0.open.lock().remove(&id);
        }
    }

    /// Rolls back transactions that nobody has used for long.
    fn expire(&self) {
        let now = clock::now();
        let is_old = |open: &Open| {
            // A locked one is in use.
            open.session.try_lock().is_ok_and(|mut transaction| {
                let idle_max = if transaction.begun.is_some() { IDLE_MAX } else { UNBEGUN_MAX };
                transaction.is_over = now.saturating_duration_since(transaction.used) > idle_max;
                transaction.is_over
            })
        };
        let expired: Vec<Open> = {
            let mut open = self.0.open.lock();
            open.extract_if(.., |_, one| is_old(one)).map(|(_, one)| one).collect()
        };
        // Dropping a session rolls back, which may take a while.
        if !expired.is_empty() {
            drop(tokio::task::spawn_blocking(move || drop(expired)));
        }
    }

    /// Looks for expired transactions as long as the server runs.
    pub(super) async fn watch(self) {
        loop {
            tokio::time::sleep(IDLE_MAX / 10).await;
            self.expire();
        }
    }
}

fn ended() -> Status {
    Status::not_found("there is no such transaction: it has ended, or nobody has used it for ten minutes")
}

fn execute(session: &Session, text: &str) -> atsdb::Result<()> {
    session.statements(text).try_for_each(|statement| session.execute(&statement?, &[]).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::log::{Log, LogOptions};
    use crate::shared::phase::PhaseOwner;
    use crate::shared::state::ServerState;
    use crate::shared::statement_options::StatementOptions;
    use futures::future::join3;
    use tokio::runtime::Builder;
    use tonic::Code;

    #[test]
    fn a_statement_that_waits_while_its_transaction_ends_is_refused() {
        let (_owner, follower) = PhaseOwner::new();
        let log = Log::new(LogOptions::default());
        let server = ServerState::new(StatementOptions::default(), follower, log);
        let state = DatabaseState::new(&server, None, atsdb::open("memory:").unwrap()).unwrap();
        let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
        for (ending, end_again) in [(Ending::Commit, Some(Code::NotFound)), (Ending::Rollback, None)] {
            runtime.block_on(async {
                let transactions = Transactions::new(&state);
                let id = transactions.open(None, 1).unwrap();
                let scope = TransactionScope { id: &id, connection: 0 };
                let running = transactions.enter(scope, None).await.unwrap();
                // All of them wait for the statement that runs, in this order.
                let ends = join3(transactions.end(&id, None, ending), transactions.enter(scope, None), async {
                    let again = transactions.end(&id, None, ending);
                    let (again, ()) = futures::future::join(again, async { drop(running) }).await;
                    again
                });
                let (ended, late, again) = ends.await;
                ended.unwrap();
                assert_eq!(late.unwrap_err().code(), Code::NotFound);
                assert_eq!(again.err().map(|status| status.code()), end_again);
            });
        }
    }
}
