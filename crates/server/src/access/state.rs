//! The users that a server currently knows.

use super::crypto::{Hash, random_32};
use super::role::Role;
use super::table::{AccessTable, Revision};
use super::throttle::Throttle;
use super::users::Users;
use crate::shared::log::{Log, LogLevel};
use crate::shared::metrics::Counter;
use crate::shared::phase::Phase;
use crate::shared::state::DatabaseState;
use atsdb::{Database, Result};
use parking_lot::Mutex;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The interval at which a server checks whether users have changed.
pub(crate) const RELOAD_EVERY: Duration = Duration::from_secs(2);

/// The access control of a server. Clones share the same state.
#[derive(Clone)]
pub(crate) struct Access(Arc<Inner>);

struct Inner {
    database: Database,
    users: Mutex<(Arc<Users>, Revision)>,
    /// Held while the users are read, so that what was read earlier does not replace what was read later.
    reading: Mutex<()>,
    /// Incremented by each change.
    generation: AtomicU64,
    throttle: Throttle,
    /// Pairs of users and passwords that were correct, hashed with [`key`](Self::key), so that a program that sends its
    /// password with each request need not wait for it to be stretched.
    right: Mutex<BTreeSet<Hash>>,
    key: Hash,
    failures: Counter,
    reload_errors: Counter,
    log: Log,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Access")
    }
}

impl Access {
    /// Reads the users of the store.
    pub(crate) fn open(state: &DatabaseState) -> Result<Self> {
        let counter = |name, help| state.metrics().counter(name, help);
        let inner = Inner {
            database: state.database().clone(),
            users: Mutex::default(),
            reading: Mutex::default(),
            generation: AtomicU64::new(0),
            throttle: Throttle::default(),
            right: Mutex::default(),
            key: random_32()?,
            failures: counter("atsdb_login_failures_total", "Requests and connections whose credentials were wrong."),
            reload_errors: counter("atsdb_user_reload_errors_total", "Times that the users could not be read again."),
            log: state.log().clone(),
        };
        let access = Self(Arc::new(inner));
        access.reload()?;
        Ok(access)
    }

    /// Reads the users again if they have changed. After an error, the known users stay.
    pub(crate) fn reload(&self) -> Result<()> {
        let _one_at_a_time = self.0.reading.lock();
        let there = AccessTable::of(self.0.database.snapshot()?);
        let revision = there.revision()?;
        if self.0.users.lock().1 == revision {
            return Ok(());
        }
        let users = Arc::new(Users::of_rows(&there.rows()?)?);
        *self.0.users.lock() = (users, revision);
        self.0.generation.fetch_add(1, Ordering::SeqCst);
        self.0.right.lock().clear();
        Ok(())
    }

    /// Checks for changes as long as the server runs.
    pub(crate) async fn follow(self, state: DatabaseState) {
        let mut phase = state.phase();
        loop {
            tokio::select! {
                () = phase.reach(Phase::Stopping) => return,
                () = tokio::time::sleep(RELOAD_EVERY) => {}
            }
            let access = self.clone();
            let reloaded = tokio::task::spawn_blocking(move || access.reload()).await;
            if !matches!(reloaded, Ok(Ok(()))) {
                self.0.reload_errors.increment();
                let error = reloaded.ok().and_then(|reloaded| Some(reloaded.err()?.message().to_owned()));
                self.0.log.write(LogLevel::Error, "users cannot be read", &[("error", json!(error))]);
            }
        }
    }

    /// Returns whether there are users.
    pub(crate) fn has_users(&self) -> bool {
        !self.users().is_empty()
    }

    /// A number that changes with each change of users.
    pub(crate) fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::SeqCst)
    }

    /// The present role of a user; `None` if the user no longer exists.
    pub(crate) fn role_of(&self, user: &str) -> Option<Role> {
        self.users().get(user).map(|(_, user)| user.role)
    }

    /// All users by name, with their roles.
    pub(crate) fn roles(&self) -> Vec<(String, Role)> {
        self.users().roles()
    }

    pub(super) fn users(&self) -> Arc<Users> {
        Arc::clone(&self.0.users.lock().0)
    }

    pub(super) fn throttle(&self) -> &Throttle {
        &self.0.throttle
    }

    pub(super) fn right(&self) -> &Mutex<BTreeSet<Hash>> {
        &self.0.right
    }

    pub(super) fn key(&self) -> &Hash {
        &self.0.key
    }

    pub(super) fn log(&self) -> &Log {
        &self.0.log
    }

    pub(super) fn failures(&self) -> &Counter {
        &self.0.failures
    }
}
