//! A transaction's hold that pauses sealing ([`holds`](crate::shared::holds)).

use crate::shared::Shared;
use crate::shared::holds::LEASE;
use atsdb_core::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time for which sealing in other processes is paused after the latest change of a transaction, in milliseconds.
const LEASE_MS: i64 = 600_000;
/// The maximum time for which a transaction waits for another process to finish sealing.
const WAIT_MAX: Duration = Duration::from_secs(5);
const WAIT_STEP: Duration = Duration::from_millis(20);

/// Pauses sealing in the background until it is dropped.
pub struct SealingHold {
    shared: Arc<Shared>,
    number: u64,
    is_leased: AtomicBool,
}

impl SealingHold {
    /// Pauses sealing in this process, for a transaction that begins.
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        let mut state = shared.holds.lock();
        let number = state.next;
        state.next += 1;
        state.since.push((number, shared.environment.uptime()));
        drop(state);
        Self { shared: Arc::clone(shared), number, is_leased: AtomicBool::new(false) }
    }

    /// Pauses sealing in other processes, too. If one of them is sealing, this waits for some seconds and then gives
    /// up. The transaction may then end with a conflict, which loses no data.
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

impl Drop for SealingHold {
    fn drop(&mut self) {
        let mut state = self.shared.holds.lock();
        state.since.retain(|(number, _)| *number != self.number);
        let is_last = self.is_leased.load(Ordering::Relaxed) && {
            state.leased = state.leased.saturating_sub(1);
            state.leased == 0
        };
        drop(state);
        if is_last {
            // If this fails, the lease expires.
            let _ = self.shared.store.release_lease(LEASE, &self.shared.holder);
        }
    }
}
