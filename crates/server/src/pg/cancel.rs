//! Cancel requests. Each is a separate connection that names another connection and its secret.

use atsdb::sql::InterruptHandle;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Process numbers are consecutive, so an attacker cannot choose the hashed values.
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
    /// Registers a connection with its secret.
    pub(crate) fn register(&self, secret: i32, handle: InterruptHandle) -> CancelKey {
        let process = self.0.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.0.processes.lock().insert(process, Cancellable { secret, handle });
        CancelKey { process, secret, registry: self.clone() }
    }

    /// Interrupts a connection if the secret is correct. The requester gets no answer either way.
    pub(crate) fn cancel(&self, process: i32, secret: i32) {
        if let Some(found) = self.0.processes.lock().get(&process)
            && found.secret == secret
        {
            found.handle.interrupt();
        }
    }

    /// Interrupts every connection.
    pub(crate) fn cancel_all(&self) {
        self.0.processes.lock().values().for_each(|found| found.handle.interrupt());
    }
}

impl Drop for CancelKey {
    fn drop(&mut self) {
        self.registry.0.processes.lock().remove(&self.process);
    }
}
