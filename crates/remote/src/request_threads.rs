//! The threads on which requests to other machines run.

use atsdb_core::parallel::try_threads;
use atsdb_core::{Error, Result};
use tokio::runtime::{Builder, Runtime};

/// The number of threads on which requests run.
const THREADS: usize = 2;

/// Starts threads with this name.
///
/// Errors: [`Resources`](atsdb_core::ErrorKind::Resources) if the system starts no more threads.
pub fn start_request_threads(name: &str) -> Result<Runtime> {
    // tokio panics if it cannot start a thread.
    try_threads(THREADS, None).map_err(Error::no_thread)?;
    let started = Builder::new_multi_thread().worker_threads(THREADS).thread_name(name).enable_all().build();
    started.map_err(Error::no_thread)
}
