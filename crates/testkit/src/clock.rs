//! Time for tests and for programs that test: measuring durations, and waiting for processes.
#![expect(clippy::disallowed_methods, reason = "the one place in the testkit that owns time")]

use std::time::{Duration, Instant};

/// The current time of the monotonic clock.
pub fn now() -> Instant {
    Instant::now()
}

/// Waits.
pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}
