//! How a call waits for work that may take a long time: without the interpreter's lock, so that other Python threads
//! run, and in the main thread in such a way that Ctrl-C ends it.
//!
//! Python runs its signal handlers only in the main thread, between two steps of the interpreter. So in the main thread
//! another thread does the work, while this one checks for signals.

use crate::failure::exception;
use atsdb::{Error, Result};
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::thread::ThreadId;
use std::time::Duration;

/// The longest time that Ctrl-C may go unnoticed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

static MAIN_THREAD: OnceLock<ThreadId> = OnceLock::new();

/// Remembers which thread is Python's main thread, if it is this one.
pub(crate) fn remember_main_thread(py: Python<'_>) -> PyResult<()> {
    let threading = py.import("threading")?;
    let current = threading.call_method0("current_thread")?;
    if current.is(&threading.call_method0("main_thread")?) {
        MAIN_THREAD.get_or_init(|| std::thread::current().id());
    }
    Ok(())
}

/// Whether this is Python's main thread.
pub(crate) fn is_main_thread() -> bool {
    MAIN_THREAD.get() == Some(&std::thread::current().id())
}

/// Does work without the interpreter's lock. If a signal's handler raises an exception in the meantime, as Ctrl-C does,
/// this calls `interrupt`, waits for the work to end, and returns the exception.
pub(crate) fn wait_for<T: Send>(
    py: Python<'_>,
    interrupt: impl Fn(),
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    if !is_main_thread() {
        let done = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
        return done.unwrap_or_else(|panic| Err(of_panic(panic.as_ref()))).map_err(|error| exception(py, &error));
    }
    py.check_signals()?;
    let done = std::thread::scope(|scope| {
        let (sender, mut receiver) = sync_channel(1);
        let spawned = std::thread::Builder::new().name("atsdb-call".into()).spawn_scoped(scope, move || {
            // The receiver waits for it.
            let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
        });
        if let Err(error) = spawned {
            let error = Error::new(atsdb::ErrorKind::Resources, format!("cannot start a thread: {error}"));
            return Err(exception(py, &error));
        }
        let mut raised = None;
        loop {
            match receive_soon(py, &mut receiver) {
                Ok(done) => return Ok((done, raised)),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(signal) = py.check_signals() {
                        raised.get_or_insert(signal);
                    }
                    // Repeatedly, since the work may have begun after the first call.
                    if raised.is_some() {
                        interrupt();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(exception(py, &Error::internal("the thread of a call ended without an answer")));
                }
            }
        }
    });
    match done? {
        (_, Some(raised)) => Err(raised),
        (done, None) => {
            done.unwrap_or_else(|panic| Err(of_panic(panic.as_ref()))).map_err(|error| exception(py, &error))
        }
    }
}

fn of_panic(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    Error::internal(format!("internal error: the call panicked: {}", text.unwrap_or("no message")))
}

/// Waits for the next item that another thread sends; `None` when it sends no more. In the main thread it checks for
/// signals in the meantime: if a handler raises an exception, this calls `interrupt` and returns the exception.
pub(crate) fn receive<T: Send>(receiver: &mut Receiver<T>, interrupt: impl Fn()) -> PyResult<Option<T>> {
    // Usually the item is available, and the interpreter's lock need not be released.
    match receiver.try_recv() {
        Ok(received) => return Ok(Some(received)),
        Err(TryRecvError::Disconnected) => return Ok(None),
        Err(TryRecvError::Empty) => {}
    }
    if !is_main_thread() {
        return Ok(receiver.recv().ok());
    }
    Python::attach(|py| {
        loop {
            match receive_soon(py, receiver) {
                Ok(received) => return Ok(Some(received)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| interrupt())?,
            }
        }
    })
}

/// Waits for a moment, without the interpreter's lock.
fn receive_soon<T: Send>(py: Python<'_>, receiver: &mut Receiver<T>) -> Result<T, RecvTimeoutError> {
    py.detach(move || receiver.recv_timeout(LOOK_EVERY))
}
