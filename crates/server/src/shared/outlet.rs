//! The parts of an answer on their way from the thread that computes them to the connection that sends them. Few wait
//! at a time, and the statement returns its permit while the client does not read.

use super::holds::HeldBytes;
use super::permits::StatementPermit;
use atsdb::sql::InterruptHandle;
use atsdb::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// The maximum number of parts that wait to be sent.
pub(crate) const PARTS_MAX: usize = 4;

/// The end that hands parts over, used by a thread that may block.
#[derive(Debug)]
pub(crate) struct Outlet<T> {
    parts: mpsc::Sender<T>,
    runtime: Handle,
    read_time_max: Duration,
    /// The statement's permit, which others use while the client does not read.
    permit: StatementPermit,
    holds: HeldBytes,
}

/// The end that the connection reads.
#[derive(Debug)]
pub(crate) struct Inlet<T>(mpsc::Receiver<T>);

/// Creates both ends. The inlet is read in `runtime`, and the client may take `read_time_max` for each part.
pub(crate) fn outlet<T>(runtime: Handle, read_time_max: Duration, permit: StatementPermit) -> (Outlet<T>, Inlet<T>) {
    let (parts, received) = mpsc::channel(PARTS_MAX);
    (Outlet { parts, runtime, read_time_max, permit, holds: HeldBytes::default() }, Inlet(received))
}

impl<T> Outlet<T> {
    /// Returns the estimate of the memory that the statement holds while the client does not read.
    pub(crate) fn holds(&self) -> HeldBytes {
        self.holds.clone()
    }

    /// Hands over a part. `waiting_bytes` is the size of the parts that wait, besides what [`holds`](Self::holds) says.
    pub(crate) fn send(&mut self, part: T, waiting_bytes: usize) -> io::Result<()> {
        let sent = tokio::time::timeout(self.read_time_max, self.parts.send(part));
        let byte_count = self.holds.byte_count().saturating_add(waiting_bytes);
        match self.runtime.block_on(self.permit.wait_for(byte_count, sent)) {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(_))) => Err(io::Error::new(io::ErrorKind::BrokenPipe, "the client has gone")),
            Ok(Err(_)) => Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")),
            Err(_) => {
                Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read, and others do not either"))
            }
        }
    }
}

impl<T> Inlet<T> {
    /// The next part; `None` after the last one.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.0.poll_recv(context)
    }
}

/// Stops a statement whose client no longer waits for the answer.
#[derive(Debug, Clone)]
pub(crate) struct Stop(Arc<Mutex<StopState>>);

#[derive(Debug)]
struct StopState {
    /// Interrupts the statement, until it has ended.
    handle: Option<InterruptHandle>,
    is_stopped: bool,
}

impl Stop {
    pub(crate) fn new(handle: InterruptHandle) -> Self {
        Self(Arc::new(Mutex::new(StopState { handle: Some(handle), is_stopped: false })))
    }

    /// Called when the statement has ended. Its session may then run another one, which must not be stopped.
    pub(crate) fn disarm(&self) {
        self.0.lock().handle.take();
    }

    /// Ends the statement. Returns `false` if it has ended.
    pub(crate) fn stop(&self) -> bool {
        let mut state = self.0.lock();
        state.is_stopped = true;
        if let Some(handle) = &state.handle {
            handle.interrupt();
        }
        state.handle.is_some()
    }

    /// Fails if the statement was stopped. A session forgets interrupts when a statement begins, so one that came
    /// before is found only here.
    pub(crate) fn check(&self) -> Result<()> {
        match self.0.lock().is_stopped {
            true => Err(Error::new(ErrorKind::Interrupted, "the query was interrupted")),
            false => Ok(()),
        }
    }
}

/// Stops the statement when this is dropped, as a connection does with answers that it can no longer send.
#[derive(Debug)]
pub(crate) struct StopOnDrop(pub(crate) Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}
