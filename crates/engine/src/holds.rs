//! Holds: while a transaction is open, chunks that it may replace are not sealed in the background.
//!
//! Sealing would take them from under it, and its commit would be a conflict that nobody caused. In this process a
//! finished seal is dropped instead of committed; other processes are kept away with the lease that maintenance needs,
//! from the transaction's first change on. What somebody asks for (`recompress`) is not kept away.

use crate::engine::{Engine, Shared};
use crate::seal::Order;
use atsdb_core::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The lease of whoever seals by itself.
pub(crate) const LEASE: &str = "maintenance";
/// How long other processes are kept away after the latest change of a transaction, in milliseconds.
const LEASE_MS: i64 = 600_000;
/// How long a transaction waits for another process that seals.
const WAIT_MAX: Duration = Duration::from_secs(5);
const WAIT_STEP: Duration = Duration::from_millis(20);
/// A transaction that has been open for longer no longer keeps sealing away: somebody forgot it.
const HOLD_MAX: Duration = Duration::from_secs(600);

/// Which holds there are.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// At which uptime each hold began, by its number.
    since: Vec<(u64, Duration)>,
    next: u64,
    /// How many of them keep other processes away.
    leased: usize,
}

/// Keeps sealing away until it is dropped.
pub struct Hold {
    shared: Arc<Shared>,
    number: u64,
    is_leased: AtomicBool,
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_held(&self, uptime: Duration) -> bool {
        self.since.iter().any(|(_, since)| uptime.saturating_sub(*since) < HOLD_MAX)
    }
}

impl Engine {
    /// Keeps sealing in the background away, for a transaction that begins.
    pub fn hold(&self) -> Hold {
        let shared = Arc::clone(&self.shared);
        let mut state = self.shared.holds.lock();
        let number = state.next;
        state.next += 1;
        state.since.push((number, shared.environment.uptime()));
        drop(state);
        Hold { shared, number, is_leased: AtomicBool::new(false) }
    }
}

impl Hold {
    /// Keeps other processes away, too. Waits for one that is at work; not for long, as a conflict is no loss.
    pub fn lease(&self) -> Result<()> {
        let shared = &self.shared;
        let until = shared.environment.uptime() + WAIT_MAX;
        loop {
            let now_ms = shared.environment.now_ms();
            if shared.store.acquire_lease(LEASE, &shared.holder, now_ms, LEASE_MS)? {
                break;
            }
            if shared.environment.uptime() >= until {
                return Ok(());
            }
            shared.environment.wait(WAIT_STEP);
        }
        if !self.is_leased.swap(true, Ordering::Relaxed) {
            shared.holds.lock().leased += 1;
        }
        Ok(())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut state = self.shared.holds.lock();
        state.since.retain(|(number, _)| *number != self.number);
        let is_last = self.is_leased.load(Ordering::Relaxed) && {
            state.leased = state.leased.saturating_sub(1);
            state.leased == 0
        };
        drop(state);
        if is_last {
            // What stays runs out by itself.
            let _ = self.shared.store.release_lease(LEASE, &self.shared.holder);
        }
    }
}
