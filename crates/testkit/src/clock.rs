//! Time for tests and for programs that test: measuring durations, and waiting for processes.
#![expect(clippy::disallowed_methods, reason = "the one place in the testkit that owns time")]

use std::time::{Duration, Instant};

/// The current time of the monotonic clock.
pub fn now() -> Instant {
    Instant::now()
}

/// The time after which a wait counts as a hang: long enough for everything that happens on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// Waits until something is the case.
///
/// # Panics
/// It is not within five minutes.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "not within five minutes: {what}");
        sleep(Duration::from_millis(5));
    }
}

/// Waits.
pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}
