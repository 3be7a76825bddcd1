//! The threads that queries run on.

use atsdb_core::{Error, ErrorKind, Result};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use tokio::runtime::Runtime;

/// What tokio panics with where it gets no thread.
const NO_THREAD: &str = "OS can't spawn worker thread";

/// A runtime of so many threads. tokio panics when it gets no thread, and then waits for ever for those it has; so the
/// threads are tried first. One more is tried than is needed: a query needs some address space, too.
pub(crate) fn start_runtime(count: usize, stack_bytes: usize) -> Result<Runtime> {
    let failed = |error: std::io::Error| shortage(format!("cannot start {count} threads for queries: {error}"));
    try_threads(count + 1, stack_bytes).map_err(failed)?;
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(count)
        .thread_name("atsdb-query")
        .thread_stack_size(stack_bytes)
        .enable_time()
        .build()
        .map_err(failed)
}

/// The error for a panic, if it says that there was no thread to be had.
pub(crate) fn no_thread(panic: &str) -> Option<Error> {
    panic.contains(NO_THREAD).then(|| shortage(format!("cannot start a thread for the query: {panic}")))
}

fn shortage(message: String) -> Error {
    Error::new(ErrorKind::Resources, message)
        .with_hint("the process may have too little memory or too few threads: see ulimit -v and ulimit -u")
}

/// Starts threads that are there at the same time, and ends them.
fn try_threads(count: usize, stack_bytes: usize) -> std::io::Result<()> {
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
    let mut threads = Vec::with_capacity(count);
    let mut outcome = Ok(());
    while threads.len() < count && outcome.is_ok() {
        let gate = Arc::clone(&gate);
        match Builder::new().stack_size(stack_bytes).spawn(move || drop(gate.lock())) {
            Ok(thread) => threads.push(thread),
            Err(error) => outcome = Err(error),
        }
    }
    drop(closed);
    for thread in threads {
        let _ = thread.join();
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_cannot_start_are_an_error() {
        // More address space than there is.
        let error = start_runtime(2, 1 << 47).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Resources);
        assert!(error.to_string().starts_with("cannot start 2 threads for queries"), "{error}");
    }
}
