//! Direct reads that are not tried for a while.

use std::sync::atomic::{AtomicU32, Ordering};

/// The number of the next reads of one form that are not tried: finding out that one takes too long takes time, too.
#[derive(Debug, Default)]
pub(super) struct Skips(AtomicU32);

impl Skips {
    /// Skips this many reads from now on.
    pub(super) fn begin(&self, count: u32) {
        self.0.store(count, Ordering::Relaxed);
    }

    /// Returns whether the next read is skipped. Call this once before each read, because it counts them.
    pub(super) fn skip_next(&self) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(1), Ordering::Relaxed);
        left > 0
    }
}
