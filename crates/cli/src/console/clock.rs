//! The clocks of the program.
#![expect(clippy::disallowed_methods, reason = "the one place in the program that owns time")]

use std::time::{Instant, SystemTime};

/// The current time of the monotonic clock.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Seconds since the Unix epoch.
pub(crate) fn unix_seconds() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.ok().and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or(0)
}
