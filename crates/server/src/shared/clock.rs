//! The server's clocks.
#![expect(clippy::disallowed_methods, reason = "the one place in the server that owns time")]

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The current time of the monotonic clock.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Nanoseconds since the epoch, by the system clock.
pub(crate) fn wall_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
