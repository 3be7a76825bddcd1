//! The queries whose rows are being read, by the names in their tickets, so that their user can cancel them.

use crate::shared::outlet::Stop;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

type ByName = BTreeMap<Vec<u8>, (Option<Arc<str>>, Stop)>;

/// The queries whose rows are being read. Clones are the same ones.
#[derive(Debug, Clone, Default)]
pub(super) struct RunningQueries(Arc<Mutex<ByName>>);

/// A query that can be cancelled until this is dropped.
#[derive(Debug)]
pub(super) struct Cancellable {
    running: RunningQueries,
    name: Vec<u8>,
}

impl RunningQueries {
    pub(super) fn begin(&self, name: &[u8], user: Option<Arc<str>>, stop: Stop) -> Cancellable {
        self.0.lock().insert(name.to_vec(), (user, stop));
        Cancellable { running: self.clone(), name: name.to_vec() }
    }

    /// Interrupts a query of a user. Returns `false` if it is not running.
    pub(super) fn cancel(&self, name: &[u8], user: Option<&Arc<str>>) -> bool {
        match self.0.lock().get(name) {
            Some((owner, stop)) if owner.as_ref() == user => {
                stop.stop();
                true
            }
            _ => false,
        }
    }
}

impl Drop for Cancellable {
    fn drop(&mut self) {
        self.running.0.lock().remove(&self.name);
    }
}
