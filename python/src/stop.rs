//! Calls that end early at a request, by Ctrl-C or from another thread: those that no session ends, because they check
//! a flag now and then.

use crate::waiting::wait_for;
use atsdb::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a call is to stop.
pub(crate) struct StopFlag {
    is_set: AtomicBool,
    /// The call, for its error.
    call: &'static str,
}

impl StopFlag {
    /// Fails once the call is to stop.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_set.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Interrupted, format!("{} was interrupted", self.call)));
        }
        Ok(())
    }

    fn set(&self) {
        self.is_set.store(true, Ordering::Relaxed);
    }
}

/// The calls that run now.
#[derive(Default)]
pub(crate) struct StoppableCalls {
    flags: Mutex<Vec<Arc<StopFlag>>>,
}

impl StoppableCalls {
    /// Stops all of them.
    pub(crate) fn stop(&self) {
        for flag in self.flags.lock().iter() {
            flag.set();
        }
    }

    /// Begins a call, which is named in its error.
    pub(crate) fn begin(&self, call: &'static str) -> StoppableCall<'_> {
        let flag = Arc::new(StopFlag { is_set: AtomicBool::new(false), call });
        self.flags.lock().push(Arc::clone(&flag));
        StoppableCall { calls: self, flag }
    }
}

/// A call, until this is dropped.
pub(crate) struct StoppableCall<'a> {
    calls: &'a StoppableCalls,
    flag: Arc<StopFlag>,
}

impl StoppableCall<'_> {
    /// The flag, for the work of the call.
    pub(crate) fn flag(&self) -> Arc<StopFlag> {
        Arc::clone(&self.flag)
    }

    /// Does work of the call, which checks the flag. Ctrl-C sets it, too.
    pub(crate) fn wait_for<T: Send>(&self, py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
        wait_for(py, || self.flag.set(), work)
    }
}

impl Drop for StoppableCall<'_> {
    fn drop(&mut self) {
        self.calls.flags.lock().retain(|flag| !Arc::ptr_eq(flag, &self.flag));
    }
}
