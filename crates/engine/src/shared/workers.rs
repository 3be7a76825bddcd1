//! The threads that encode chunks while the threads that append continue. They start at first use and end with the
//! engine.
//!
//! A job may write to the store, so it may block: that is why these threads are neither shared with other work nor
//! those of an asynchronous runtime. Work whose results the caller waits for runs in
//! [`parallel_map`](atsdb_core::parallel::parallel_map).

use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::Builder;

type Job = Box<dyn FnOnce() + Send>;

/// The threads. Dropping it lets them finish the jobs they have.
pub(crate) struct Workers {
    thread_count: usize,
    sender: OnceLock<Sender<Job>>,
}

impl Workers {
    /// Creates the pool for this many threads, none of which is started yet.
    pub(crate) fn new(thread_count: usize) -> Self {
        Self { thread_count, sender: OnceLock::new() }
    }

    /// Returns the number of jobs that run at once.
    pub(crate) fn thread_count(&self) -> usize {
        self.thread_count
    }

    /// Runs a job as soon as a thread is free. A job that panics drops what it owns, so that a caller who waits on its
    /// channel notices.
    pub(crate) fn submit(&self, job: Job) {
        if let Err(unsent) = self.sender.get_or_init(|| start(self.thread_count)).send(job) {
            (unsent.0)();
        }
    }
}

fn start(thread_count: usize) -> Sender<Job> {
    let (sender, receiver) = channel::<Job>();
    let receiver = Arc::new(Mutex::new(receiver));
    for _ in 0..thread_count {
        let receiver = Arc::clone(&receiver);
        // If the system cannot start any thread, the sender has no receiver, and `submit` runs the job itself.
        let _ = Builder::new().name("atsdb-worker".into()).spawn(move || work(&receiver));
    }
    sender
}

fn work(receiver: &Mutex<Receiver<Job>>) {
    loop {
        let job = receiver.lock().recv();
        match job {
            // The panic hook has reported the panic; the thread continues with the next job.
            Ok(job) => drop(catch_unwind(AssertUnwindSafe(job))),
            Err(_) => return,
        }
    }
}
