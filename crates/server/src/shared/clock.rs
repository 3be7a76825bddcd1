//! The server's clock.
#![expect(clippy::disallowed_methods, reason = "the one place in the server that owns time")]

use std::time::Instant;

/// Now, by a clock that nobody sets.
pub(crate) fn now() -> Instant {
    Instant::now()
}
