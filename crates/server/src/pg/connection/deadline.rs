//! The time limit of a statement.

use crate::pg::error::Failure;
use atsdb::sql::InterruptHandle;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// The time limit of one statement.
#[derive(Default)]
pub(super) struct Deadline {
    task: Option<JoinHandle<()>>,
    fired: Arc<AtomicBool>,
}

impl Deadline {
    /// Interrupts the statement when its time is up, unless the deadline is dropped before.
    pub(super) fn start(limit: Duration, handle: InterruptHandle, runtime: &Handle) -> Self {
        let fired = Arc::new(AtomicBool::new(false));
        let in_task = Arc::clone(&fired);
        let task = runtime.spawn(async move {
            tokio::time::sleep(limit).await;
            in_task.store(true, Ordering::SeqCst);
            handle.interrupt();
        });
        Self { task: Some(task), fired }
    }

    /// Replaces the error of an interrupted statement by the reason for the interrupt. A COPY that its client aborts,
    /// and a statement that reaches the server's own limit, have the same code and say their reason themselves.
    pub(super) fn explain(self, done: Result<(), Failure>) -> Result<(), Failure> {
        done.map_err(|failure| match failure {
            Failure::Error(mut error) if error.code == "57014" => {
                if self.fired.load(Ordering::SeqCst) {
                    error.message = "canceling statement due to statement timeout".into();
                } else if error.message.ends_with("was interrupted") {
                    error.message = "canceling statement due to user request".into();
                }
                Failure::Error(error)
            }
            other => other,
        })
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
