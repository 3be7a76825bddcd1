//! A few threads that encode chunks beside the threads that append them. Started at first use, ended with the
//! engine.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

/// The threads. Dropping it lets them finish what they have.
pub(crate) struct Workers {
    thread_count: usize,
    sender: OnceLock<Mutex<Sender<Job>>>,
}

impl Workers {
    /// So many threads, none of them started yet.
    pub(crate) fn new(thread_count: usize) -> Self {
        Self { thread_count, sender: OnceLock::new() }
    }

    /// How many jobs run at once.
    pub(crate) fn thread_count(&self) -> usize {
        self.thread_count
    }

    /// Runs a job as soon as a thread is free. A job that panics drops what it owns, so that whoever waits on a
    /// channel of its sees that it is gone.
    pub(crate) fn submit(&self, job: Job) {
        let sender = self.sender.get_or_init(|| Mutex::new(start(self.thread_count)));
        let sent = sender.lock().unwrap_or_else(PoisonError::into_inner).send(job);
        if let Err(unsent) = sent {
            (unsent.0)();
        }
    }
}

fn start(thread_count: usize) -> Sender<Job> {
    let (sender, receiver) = channel::<Job>();
    let receiver = Arc::new(Mutex::new(receiver));
    for _ in 0..thread_count {
        let receiver = Arc::clone(&receiver);
        // Where no thread can be had the sender finds no receiver, and submit runs the job itself.
        let _ = thread::Builder::new().name("atsdb-worker".into()).spawn(move || work(&receiver));
    }
    sender
}

fn work(receiver: &Mutex<Receiver<Job>>) {
    loop {
        let job = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match job {
            // The panic has been reported by the hook; the thread goes on with the next job.
            Ok(job) => drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(job))),
            Err(_) => return,
        }
    }
}
