//! Holds: while a transaction is open, chunks that it may replace are not sealed in the background.
//!
//! Sealing would take them from under it, and its commit would be a conflict that nobody caused. In this process a
//! finished seal is dropped instead of committed; other processes are kept away with the lease that maintenance needs,
//! from the transaction's first change on. What somebody asks for (`recompress`) is not kept away.

use atsdb_core::{Error, ErrorKind, Result};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The lease of whoever seals by itself.
pub(crate) const LEASE: &str = "maintenance";
/// A transaction that has been open for longer no longer keeps sealing away: somebody forgot it.
const HOLD_MAX: Duration = Duration::from_secs(600);

/// Who wants chunks to be sealed, or cut anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Somebody who waits for it.
    Asked,
    /// Nobody: it keeps out of the way of open transactions.
    ByItself,
}

/// Which holds there are.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// At which uptime each hold began, by its number.
    pub(crate) since: Vec<(u64, Duration)>,
    pub(crate) next: u64,
    /// How many of them keep other processes away.
    pub(crate) leased: usize,
}

/// While this lives no hold begins.
pub(crate) struct Sealing<'a> {
    _state: MutexGuard<'a, State>,
}

impl Holds {
    /// Whether something is held.
    pub(crate) fn are_there(&self, uptime: Duration) -> bool {
        self.lock().is_held(uptime)
    }

    /// Whether the lease is somebody's here who still needs it.
    pub(crate) fn need_lease(&self) -> bool {
        self.lock().leased > 0
    }

    /// For the commit of what was sealed by itself: a conflict if something is held.
    pub(crate) fn pass(&self, order: Order, uptime: Duration) -> Result<Option<Sealing<'_>>> {
        let state = self.lock();
        match order {
            Order::Asked => Ok(None),
            Order::ByItself if state.is_held(uptime) => Err(Error::new(ErrorKind::Conflict, "a transaction is open")),
            Order::ByItself => Ok(Some(Sealing { _state: state })),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_held(&self, uptime: Duration) -> bool {
        self.since.iter().any(|(_, since)| uptime.saturating_sub(*since) < HOLD_MAX)
    }
}
