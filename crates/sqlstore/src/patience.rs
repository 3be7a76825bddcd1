//! How long something is tried again.

#![expect(clippy::disallowed_methods, reason = "how long something is retried")]

use std::time::{Duration, Instant};

/// How long a reader waits for a server that is away.
pub(crate) const READER_PATIENCE_MAX: Duration = Duration::from_secs(10);
/// Between two tries.
const PAUSE_MIN: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// Waits a little longer each time.
pub(crate) struct Patience {
    deadline: Instant,
    pause: Duration,
}

impl Patience {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { deadline: Instant::now() + patience, pause: PAUSE_MIN }
    }

    /// Whether it is worth another try; waits before that.
    pub(crate) fn wait(&mut self) -> bool {
        if Instant::now() + self.pause > self.deadline {
            return false;
        }
        std::thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        true
    }
}
