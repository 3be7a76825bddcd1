//! Cancel requests: a connection of their own that names another one and its secret.

use atsdb::sql::InterruptHandle;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Numbers of processes follow each other: nothing that an attacker chooses is hashed.
type ByProcess = HashMap<i32, Cancellable, BuildHasherDefault<std::hash::DefaultHasher>>;

/// The connections that can be cancelled.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancellations(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    processes: Mutex<ByProcess>,
    last: AtomicI32,
}

#[derive(Debug)]
struct Cancellable {
    secret: i32,
    handle: InterruptHandle,
}

/// The keys of one connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct CancelKey {
    pub(crate) process: i32,
    pub(crate) secret: i32,
    registry: Cancellations,
}

impl Cancellations {
    /// Registers a connection with a secret that nobody else knows.
    pub(crate) fn register(&self, secret: i32, handle: InterruptHandle) -> CancelKey {
        let process = self.0.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.0.processes.lock().insert(process, Cancellable { secret, handle });
        CancelKey { process, secret, registry: self.clone() }
    }

    /// Stops what a connection does, if the secret is its own. Whoever asks is told nothing either way.
    pub(crate) fn cancel(&self, process: i32, secret: i32) {
        if let Some(found) = self.0.processes.lock().get(&process)
            && found.secret == secret
        {
            found.handle.interrupt();
        }
    }

    /// Stops what every connection does.
    pub(crate) fn cancel_all(&self) {
        self.0.processes.lock().values().for_each(|found| found.handle.interrupt());
    }
}

impl Drop for CancelKey {
    fn drop(&mut self) {
        self.registry.0.processes.lock().remove(&self.process);
    }
}
