//! Interrupting a session, and the time limit of its queries.

use atsdb_core::{Error, ErrorKind, Result};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

/// Whether an interrupt was requested, and the waiters to notify.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<Mutex<InterruptState>>);

#[derive(Debug, Default)]
struct InterruptState {
    /// The maximum duration of a query.
    time_limit: Option<Duration>,
    requested: bool,
    waiting: Option<Waker>,
}

impl Interrupt {
    fn state(&self) -> std::sync::MutexGuard<'_, InterruptState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn with_time_limit(time_limit: Option<Duration>) -> Self {
        Self(Arc::new(Mutex::new(InterruptState { time_limit, ..InterruptState::default() })))
    }

    pub(crate) fn time_limit(&self) -> Option<Duration> {
        self.state().time_limit
    }

    pub(crate) fn set_time_limit(&self, time_limit: Option<Duration>) {
        self.state().time_limit = time_limit;
    }

    pub(crate) fn request(&self) {
        let waiting = {
            let mut state = self.state();
            state.requested = true;
            state.waiting.take()
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    pub(crate) fn reset(&self) {
        let mut state = self.state();
        (state.requested, state.waiting) = (false, None);
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.state().requested { Err(interrupted()) } else { Ok(()) }
    }

    pub(crate) fn poll(&self, context: &Context<'_>) -> bool {
        let mut state = self.state();
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
