//! The sessions of all clients: what they are doing, and ending them. A client cancels by a separate connection that
//! names a session and its secret; users do so by `pg_cancel_backend` and `pg_terminate_backend`.

use super::wire::outgoing::TransactionStatus;
use crate::shared::clock;
use crate::shared::running::ProcessNumbers;
use atsdb::sql::InterruptHandle;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::watch;

/// Process numbers are consecutive, so an attacker cannot choose the hashed values.
type ByProcess = HashMap<i32, OpenSession, BuildHasherDefault<std::hash::DefaultHasher>>;

/// The open sessions. Clones are the same ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sessions(Arc<Mutex<ByProcess>>);

#[derive(Debug)]
struct OpenSession {
    secret: i32,
    handle: InterruptHandle,
    session: SessionEntry,
    ended: watch::Sender<bool>,
}

/// One session in the list.
#[derive(Debug, Clone)]
pub(in crate::pg) struct SessionEntry {
    pub(in crate::pg) process: i32,
    pub(in crate::pg) user: String,
    pub(in crate::pg) database: String,
    pub(in crate::pg) address: IpAddr,
    /// The time at which it began, in nanoseconds since 1970.
    pub(in crate::pg) started_ns: i64,
    pub(in crate::pg) present: PresentState,
}

/// The state of a session while it executes no statement.
#[derive(Debug, Clone)]
pub(in crate::pg) struct PresentState {
    pub(in crate::pg) application: String,
    pub(in crate::pg) transaction: TransactionStatus,
    /// The time at which this state began, in nanoseconds since 1970.
    pub(in crate::pg) since_ns: i64,
}

/// A session's place in the list, until this is dropped.
#[derive(Debug)]
pub(in crate::pg) struct SessionRegistration {
    pub(in crate::pg) process: i32,
    pub(in crate::pg) secret: i32,
    sessions: Sessions,
    ended: watch::Receiver<bool>,
}

/// Whether somebody has ended a session. Clones refer to the same session.
#[derive(Debug, Clone)]
pub(in crate::pg) struct Termination(watch::Receiver<bool>);

/// The owner of a new session.
pub(in crate::pg) struct SessionOwner<'a> {
    pub(in crate::pg) user: &'a str,
    pub(in crate::pg) database: &'a str,
    pub(in crate::pg) address: IpAddr,
}

impl Sessions {
    /// Registers a session with its secret.
    pub(in crate::pg) fn register(
        &self,
        numbers: &ProcessNumbers,
        secret: i32,
        owner: &SessionOwner<'_>,
        handle: InterruptHandle,
    ) -> SessionRegistration {
        let (process, now_ns) = (numbers.next(), clock::wall_ns());
        let (ended, seen) = watch::channel(false);
        let present =
            PresentState { application: String::new(), transaction: TransactionStatus::Idle, since_ns: now_ns };
        let session = SessionEntry {
            process,
            user: owner.user.to_owned(),
            database: owner.database.to_owned(),
            address: owner.address,
            started_ns: now_ns,
            present,
        };
        self.0.lock().insert(process, OpenSession { secret, handle, session, ended });
        SessionRegistration { process, secret, sessions: self.clone(), ended: seen }
    }

    /// All sessions of a database, by their process numbers.
    pub(in crate::pg) fn list(&self, database: &str) -> Vec<SessionEntry> {
        let sessions = self.0.lock();
        let of_database = sessions.values().map(|entry| &entry.session).filter(|entry| entry.database == database);
        let mut found: Vec<SessionEntry> = of_database.cloned().collect();
        found.sort_unstable_by_key(|session| session.process);
        found
    }

    /// Interrupts a session if the secret is correct. The requester gets no answer either way.
    pub(in crate::pg) fn cancel(&self, process: i32, secret: i32) {
        if let Some(found) = self.0.lock().get(&process)
            && found.secret == secret
        {
            found.handle.interrupt();
        }
    }

    /// Interrupts every session.
    pub(in crate::pg) fn cancel_all(&self) {
        self.0.lock().values().for_each(|found| found.handle.interrupt());
    }

    /// Ends a session. Returns `false` if there is none with this number.
    pub(in crate::pg) fn terminate(&self, process: i32) -> bool {
        self.0.lock().get(&process).map(|found| found.ended.send_replace(true)).is_some()
    }
}

impl SessionRegistration {
    /// Returns a handle that says whether the session was ended, and that waits for its end.
    pub(in crate::pg) fn termination(&self) -> Termination {
        Termination(self.ended.clone())
    }

    /// Shows what the session does now.
    pub(in crate::pg) fn show(&self, application: &str, transaction: TransactionStatus) {
        let mut sessions = self.sessions.0.lock();
        let Some(entry) = sessions.get_mut(&self.process) else { return };
        let present = &mut entry.session.present;
        if present.application != application {
            application.clone_into(&mut present.application);
        }
        (present.transaction, present.since_ns) = (transaction, clock::wall_ns());
    }
}

impl Drop for SessionRegistration {
    fn drop(&mut self) {
        self.sessions.0.lock().remove(&self.process);
    }
}

impl Termination {
    /// Returns whether the session was ended.
    pub(in crate::pg) fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the session is ended.
    pub(in crate::pg) async fn requested(&mut self) {
        if self.0.wait_for(|ended| *ended).await.is_err() {
            // The session has ended by itself.
            std::future::pending::<()>().await;
        }
    }
}
