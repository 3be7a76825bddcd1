//! The clock that the lab measures and waits with.
#![expect(clippy::disallowed_methods, reason = "the one place in the lab that owns time")]

use std::time::{Duration, Instant};

/// The current time of the monotonic clock.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits.
pub(crate) fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}
