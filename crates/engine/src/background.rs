//! A thread of the engine's own that looks after something again and again, and ends with the engine.

use atsdb_core::{Error, ErrorKind, Result};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// The thread. Dropping it ends the thread, at the next time that it looks at its nudges.
pub(crate) struct Background {
    nudge: Option<SyncSender<()>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Background {
    /// Starts a thread that runs until its nudges are over.
    pub(crate) fn start(name: &str, run: impl FnOnce(&Receiver<()>) + Send + 'static) -> Result<Self> {
        let (nudge, nudges) = sync_channel(1);
        let thread = Builder::new().name(name.to_owned()).spawn(move || run(&nudges)).map_err(|error| {
            Error::new(ErrorKind::Unavailable, "the operating system gave no thread").with_source(error)
        })?;
        Ok(Self { nudge: Some(nudge), thread: Mutex::new(Some(thread)) })
    }

    /// Has it look soon.
    pub(crate) fn nudge(&self) {
        if let Some(nudge) = &self.nudge {
            // A full channel holds a nudge already.
            let _ = nudge.try_send(());
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.nudge = None;
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic in the thread has been reported by the hook.
            let _ = thread.join();
        }
    }
}

/// Whether the thread is to end.
pub(crate) fn is_over(nudges: &Receiver<()>) -> bool {
    matches!(nudges.try_recv(), Err(TryRecvError::Disconnected))
}
