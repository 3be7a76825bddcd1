//! The lease of a copy: only one copy writes to a target at a time, so that its stage is its own.
//!
//! A thread renews the lease, so that a slow transfer does not lose it. A process that is killed loses it after some
//! seconds.

#![expect(clippy::disallowed_methods, reason = "the lease is renewed by real time, which an injected clock may stop")]

use crate::shared::environment::Environment;
use atsdb_core::{Error, ErrorKind, Result, Store, hex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const NAME: &str = "copy";
const TTL_MS: i64 = 10_000;
const RENEW: Duration = Duration::from_secs(2);
/// The maximum wait for another copy, which may have been killed.
const WAIT: Duration = Duration::from_secs(12);
const WAIT_STEP: Duration = Duration::from_millis(100);

/// The lease, held until this is dropped.
pub(super) struct Lease {
    store: Arc<dyn Store>,
    holder: String,
    is_lost: Arc<AtomicBool>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Lease {
    pub(super) fn take(store: &Arc<dyn Store>, environment: &dyn Environment) -> Result<Self> {
        let holder = hex::encode(&environment.random()?);
        let started = environment.uptime();
        while !store.acquire_lease(NAME, &holder, environment.now_ms(), TTL_MS)? {
            if environment.uptime().saturating_sub(started) > WAIT {
                return Err(Error::new(ErrorKind::Busy, format!("another copy to {} is running", store.url()))
                    .with_hint("retry when it has finished"));
            }
            environment.wait(WAIT_STEP);
        }
        let is_lost = Arc::new(AtomicBool::new(false));
        let (stop, stopped) = channel::<()>();
        let clock = RenewalClock { start_ms: environment.now_ms(), since: Instant::now() };
        let renew = {
            let (store, holder, is_lost) = (Arc::clone(store), holder.clone(), Arc::clone(&is_lost));
            move || {
                while stopped.recv_timeout(RENEW) == Err(RecvTimeoutError::Timeout) {
                    // A failed renewal is retried: the lease outlives several of them.
                    if let Ok(false) = store.acquire_lease(NAME, &holder, clock.now_ms(), TTL_MS) {
                        is_lost.store(true, Ordering::SeqCst);
                        return;
                    }
                }
            }
        };
        let thread =
            std::thread::Builder::new().name("atsdb-copy-lease".into()).spawn(renew).map_err(Error::no_thread)?;
        Ok(Self { store: Arc::clone(store), holder, is_lost, stop: Some(stop), thread: Some(thread) })
    }

    /// Fails if the lease is lost.
    pub(super) fn require(&self) -> Result<()> {
        match self.is_lost.load(Ordering::SeqCst) {
            false => Ok(()),
            true => Err(Error::new(ErrorKind::Conflict, "another copy to the same store has taken over")
                .with_hint("copy again: the copy resumes with what was transferred")),
        }
    }
}

/// The caller's clock, continued by the thread.
struct RenewalClock {
    start_ms: i64,
    since: Instant,
}

impl RenewalClock {
    fn now_ms(&self) -> i64 {
        self.start_ms + i64::try_from(self.since.elapsed().as_millis()).unwrap_or(0)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // If this fails, the lease expires.
        let _ = self.store.release_lease(NAME, &self.holder);
    }
}
