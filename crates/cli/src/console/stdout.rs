//! Detects whether stdout still has a reader.

use std::sync::atomic::{AtomicBool, Ordering};

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns whether the reader of stdout, such as `head`, has closed it. The program then ends quietly.
pub(crate) fn is_closed() -> bool {
    IS_CLOSED.load(Ordering::Relaxed)
}

/// Records that the reader has closed stdout.
pub(crate) fn set_closed() {
    IS_CLOSED.store(true, Ordering::Relaxed);
}
