//! Which process an object belongs to. A process that was forked has a copy of an open store's memory, but neither its
//! threads, so that calls would wait forever, nor its locks on files, so that other processes would not see it.

use atsdb::{Error, Result};
use parking_lot::Mutex;

/// How many stores are open, and in which process. A forked process has the numbers of its parent.
static OPEN_STORES: Mutex<(u32, usize)> = Mutex::new((0, 0));

/// The process that made an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnerProcess(u32);

impl OwnerProcess {
    /// This process.
    pub(crate) fn current() -> Self {
        Self(std::process::id())
    }

    /// Returns whether it is this process.
    pub(crate) fn is_current(self) -> bool {
        self == Self::current()
    }

    /// Fails in any other process.
    pub(crate) fn check(self) -> Result<()> {
        match self.is_current() {
            true => Ok(()),
            false => Err(forked("the store was opened by the process that this one was forked from")),
        }
    }
}

/// Counts a store that is about to be opened. Fails in a process that was forked while a store was open.
pub(crate) fn store_opens() -> Result<()> {
    let mut open = OPEN_STORES.lock();
    if open.0 != std::process::id() {
        if open.1 > 0 {
            return Err(forked("this process was forked from one that had a store open"));
        }
        open.0 = std::process::id();
    }
    open.1 += 1;
    Ok(())
}

/// Counts a store that was closed, or could not be opened.
pub(crate) fn store_closed() {
    let mut open = OPEN_STORES.lock();
    open.1 = open.1.saturating_sub(1);
}

fn forked(message: &str) -> Error {
    Error::usage(message).with_hint(
        "fork before a store is opened, or start processes without it: multiprocessing.get_context(\"spawn\")",
    )
}
