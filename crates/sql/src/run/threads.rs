//! The threads that queries run on.

use atsdb_core::parallel::{drop_elsewhere, try_threads};
use atsdb_core::{Error, ErrorKind, Result};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// The size of a thread's stack. It is address space, not memory: a page is allocated when it is first used.
const STACK_BYTES: usize = 64 << 20;

/// The time for which stopped queries may occupy all threads before new threads are started for the next query.
const STOPPING: Duration = Duration::from_millis(50);

/// The message with which tokio panics if it cannot start a thread.
const NO_THREAD: &str = "OS can't spawn worker thread";

/// A runtime that does not wait for its threads when it is dropped, because its last owner may be one of them.
pub(super) struct Threads(Option<Runtime>);

impl Threads {
    pub(super) fn start(count: usize) -> Result<Arc<Self>> {
        Ok(Arc::new(Self(Some(start_runtime(count, STACK_BYTES)?))))
    }

    pub(super) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<JoinHandle<T>> {
        let runtime = self.0.as_ref().ok_or_else(|| Error::internal("the threads for queries have ended"))?;
        Ok(runtime.spawn(work))
    }

    /// Returns whether a thread becomes free soon.
    pub(super) fn has_free_thread(&self) -> bool {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let answer = self.spawn(async move { sender.send(()) });
        answer.is_ok() && receiver.recv_timeout(STOPPING).is_ok()
    }
}

impl Drop for Threads {
    #[expect(clippy::disallowed_methods, reason = "no thread can be started that would wait for its threads")]
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            drop_elsewhere(runtime, Runtime::shutdown_background);
        }
    }
}

/// Starts a runtime with this many threads. tokio panics if it cannot start a thread, and then waits for ever for those
/// it has; so the threads are tried first. One more thread is tried than is needed, because a query needs some address
/// space, too.
fn start_runtime(count: usize, stack_bytes: usize) -> Result<Runtime> {
    let failed = |error: std::io::Error| shortage(format!("cannot start {count} threads for queries: {error}"));
    try_threads(count + 1, Some(stack_bytes)).map_err(failed)?;
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(count)
        .thread_name("atsdb-query")
        .thread_stack_size(stack_bytes)
        .enable_time()
        .build()
        .map_err(failed)
}

/// The error for a panic, if its message says that no thread could be started.
pub(crate) fn no_thread(panic: &str) -> Option<Error> {
    panic.contains(NO_THREAD).then(|| shortage(format!("cannot start a thread for the query: {panic}")))
}

fn shortage(message: String) -> Error {
    Error::new(ErrorKind::Resources, message)
        .with_hint("the process may have too little memory or too few threads: see ulimit -v and ulimit -u")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_cannot_start_are_an_error() {
        // More address space than the system has.
        let error = start_runtime(2, 1 << 47).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Resources);
        assert!(error.to_string().starts_with("cannot start 2 threads for queries"), "{error}");
    }
}
