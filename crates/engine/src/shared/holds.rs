//! Holds: while a transaction is open, chunks that it may replace are not sealed in the background.
//!
//! Otherwise its commit would be a conflict that no user caused. In this process a finished seal is discarded instead
//! of committed; other processes are kept from sealing by the maintenance lease, from the transaction's first change
//! on. Sealing that a caller requests (`recompress`) is not paused.

use atsdb_core::{Error, ErrorKind, Result};
use parking_lot::{Mutex, MutexGuard};
use std::time::Duration;

/// The lease for background maintenance.
pub(crate) const LEASE: &str = "maintenance";
/// A transaction that has been open for longer no longer pauses sealing: it was probably forgotten.
const HOLD_MAX: Duration = Duration::from_secs(600);

/// The reason for sealing or re-slicing chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SealTrigger {
    /// A caller has requested it and waits.
    Requested,
    /// Background maintenance does it, unless a transaction is open.
    Background,
}

/// The holds of this process.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    state: Mutex<HoldState>,
}

#[derive(Debug, Default)]
pub(crate) struct HoldState {
    /// The number of each hold, and the uptime at which it began.
    pub(crate) since: Vec<(u64, Duration)>,
    pub(crate) next: u64,
    /// The number of them that pause other processes, too.
    pub(crate) leased: usize,
}

/// Permission to commit sealed chunks. While it exists, no hold begins.
pub(crate) struct SealPermit<'a> {
    _state: MutexGuard<'a, HoldState>,
}

impl Holds {
    /// Returns whether there are holds.
    pub(crate) fn any(&self, uptime: Duration) -> bool {
        self.lock().is_held(uptime)
    }

    /// Returns whether a hold of this process needs the maintenance lease.
    pub(crate) fn need_lease(&self) -> bool {
        self.lock().leased > 0
    }

    /// Requests permission to commit sealed chunks. `None` means that no permission is needed.
    ///
    /// Errors: [`ErrorKind::Conflict`] if background maintenance sealed them and there is a hold.
    pub(crate) fn permit(&self, trigger: SealTrigger, uptime: Duration) -> Result<Option<SealPermit<'_>>> {
        let state = self.lock();
        match trigger {
            SealTrigger::Requested => Ok(None),
            SealTrigger::Background if state.is_held(uptime) => {
                Err(Error::new(ErrorKind::Conflict, "a transaction is open"))
            }
            SealTrigger::Background => Ok(Some(SealPermit { _state: state })),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, HoldState> {
        self.state.lock()
    }
}

impl HoldState {
    fn is_held(&self, uptime: Duration) -> bool {
        self.since.iter().any(|(_, since)| uptime.saturating_sub(*since) < HOLD_MAX)
    }
}
