//! Interrupting a session, and what its queries need to know of it: their time limit, the current times of its
//! statement, the numbers that it draws, the locks that it takes, who notices its waits, and its user and database.

use super::permission::Restriction;
use super::statement_waits::StatementWaits;
use atsdb_core::{CurrentTimes, Error, ErrorKind, Result};
use atsdb_dialect::functions::session::identity::SessionIdentity;
use atsdb_dialect::functions::session::lock_table::SessionLocks;
use atsdb_engine::SessionNumbers;
use parking_lot::Mutex;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

/// Whether an interrupt was requested, and the waiters to notify.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<Mutex<InterruptState>>);

#[derive(Debug, Default)]
struct InterruptState {
    /// The maximum duration of a query.
    time_limit: Option<Duration>,
    /// The current times of the statement.
    times: Option<CurrentTimes>,
    /// The numbers of identity columns, and the rights that drawing them needs.
    sequences: Option<(SessionNumbers, Arc<Restriction>)>,
    /// The scopes of its advisory locks.
    locks: Option<Arc<SessionLocks>>,
    /// The object that awaits the locks and times for which its statements wait on purpose.
    waits: Option<Arc<dyn StatementWaits>>,
    /// Its user and database, if they are known.
    identity: Option<Arc<SessionIdentity>>,
    requested: bool,
    waiting: Option<Waker>,
}

impl Interrupt {
    pub(crate) fn with_time_limit(time_limit: Option<Duration>) -> Self {
        Self(Arc::new(Mutex::new(InterruptState { time_limit, ..InterruptState::default() })))
    }

    /// The numbers of identity columns that the session draws, and its rights.
    pub(crate) fn sequences(&self) -> Option<(SessionNumbers, Arc<Restriction>)> {
        self.0.lock().sequences.clone()
    }

    pub(crate) fn set_sequences(&self, numbers: SessionNumbers, restriction: Arc<Restriction>) {
        self.0.lock().sequences = Some((numbers, restriction));
    }

    /// The scopes of the session's advisory locks.
    pub(crate) fn locks(&self) -> Option<Arc<SessionLocks>> {
        self.0.lock().locks.clone()
    }

    pub(crate) fn set_locks(&self, locks: Arc<SessionLocks>) {
        self.0.lock().locks = Some(locks);
    }

    /// Returns the object that awaits the locks and times for which the session's statements wait on purpose.
    pub(crate) fn waits(&self) -> Option<Arc<dyn StatementWaits>> {
        self.0.lock().waits.clone()
    }

    pub(crate) fn set_waits(&self, waits: Arc<dyn StatementWaits>) {
        self.0.lock().waits = Some(waits);
    }

    /// The session's user and database, if they are known.
    pub(crate) fn identity(&self) -> Option<Arc<SessionIdentity>> {
        self.0.lock().identity.clone()
    }

    pub(crate) fn set_identity(&self, identity: SessionIdentity) {
        self.0.lock().identity = Some(Arc::new(identity));
    }

    pub(crate) fn time_limit(&self) -> Option<Duration> {
        self.0.lock().time_limit
    }

    pub(crate) fn set_time_limit(&self, time_limit: Option<Duration>) {
        self.0.lock().time_limit = time_limit;
    }

    /// The current times of the session's statement. `None` before its first one.
    pub(crate) fn times(&self) -> Option<CurrentTimes> {
        self.0.lock().times
    }

    pub(crate) fn set_times(&self, times: CurrentTimes) {
        self.0.lock().times = Some(times);
    }

    pub(crate) fn request(&self) {
        let waiting = {
            let mut state = self.0.lock();
            state.requested = true;
            state.waiting.take()
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    pub(crate) fn reset(&self) {
        let mut state = self.0.lock();
        (state.requested, state.waiting) = (false, None);
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.0.lock().requested { Err(interrupted()) } else { Ok(()) }
    }

    pub(crate) fn poll(&self, context: &Context<'_>) -> bool {
        let mut state = self.0.lock();
        if !state.requested {
            state.waiting = Some(context.waker().clone());
        }
        state.requested
    }
}

/// The error of an interrupted query.
pub(crate) fn interrupted() -> Error {
    Error::new(ErrorKind::Interrupted, "the query was interrupted")
}
