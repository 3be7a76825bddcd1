//! Time for tests and for programs that test: how long something takes, and waiting for processes.
#![expect(clippy::disallowed_methods, reason = "the one place in the testkit that owns time")]

use std::time::{Duration, Instant};

/// Now, by a clock that nobody sets.
pub fn now() -> Instant {
    Instant::now()
}

/// Waits.
pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}
