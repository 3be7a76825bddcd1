//! Whether anybody still reads what goes to stdout.

use std::sync::atomic::{AtomicBool, Ordering};

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether the reader of stdout has gone, as `| head` does: then the program ends quietly.
pub(crate) fn is_closed() -> bool {
    IS_CLOSED.load(Ordering::Relaxed)
}

/// Notes that it has.
pub(crate) fn set_closed() {
    IS_CLOSED.store(true, Ordering::Relaxed);
}
