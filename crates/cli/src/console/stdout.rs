//! Detects whether stdout still has a reader.

use std::sync::atomic::{AtomicBool, Ordering};

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether the reader of stdout has closed it, as `| head` does. The program then ends quietly.
pub(crate) fn is_closed() -> bool {
    IS_CLOSED.load(Ordering::Relaxed)
}

/// Notes that it has.
pub(crate) fn set_closed() {
    IS_CLOSED.store(true, Ordering::Relaxed);
}
