//! How whoever waits for a session asks it to stop.

use atsdb_core::{Error, ErrorKind, Result};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};

/// Whether the caller asked to stop, and who waits to be told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<Mutex<InterruptState>>);

#[derive(Debug, Default)]
struct InterruptState {
    asked: bool,
    waiting: Option<Waker>,
}

impl Interrupt {
    fn state(&self) -> std::sync::MutexGuard<'_, InterruptState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ask(&self) {
        let waiting = {
            let mut state = self.state();
            state.asked = true;
            state.waiting.take()
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    pub(crate) fn reset(&self) {
        *self.state() = InterruptState::default();
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.state().asked { Err(interrupted()) } else { Ok(()) }
    }

    pub(crate) fn poll(&self, context: &Context<'_>) -> bool {
        let mut state = self.state();
        if !state.asked {
            state.waiting = Some(context.waker().clone());
        }
        state.asked
    }
}

/// The error of a query that was asked to stop.
pub(crate) fn interrupted() -> Error {
    Error::new(ErrorKind::Interrupted, "the query was interrupted")
}
