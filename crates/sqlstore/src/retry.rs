//! Retries with a deadline.

#![expect(clippy::disallowed_methods, reason = "how long something is retried")]

use std::time::{Duration, Instant};

/// The maximum time for which a reader waits for an unreachable server.
pub(crate) const READER_WAIT_MAX: Duration = Duration::from_secs(10);
/// The shortest and the longest pause between two attempts.
const PAUSE_MIN: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// A deadline for retries, with pauses that double.
pub(crate) struct RetryDeadline {
    deadline: Instant,
    pause: Duration,
}

impl RetryDeadline {
    pub(crate) fn new(retry_for: Duration) -> Self {
        Self { deadline: Instant::now() + retry_for, pause: PAUSE_MIN }
    }

    /// Waits and returns true, unless the deadline would pass.
    pub(crate) fn wait(&mut self) -> bool {
        if Instant::now() + self.pause > self.deadline {
            return false;
        }
        std::thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        true
    }
}
