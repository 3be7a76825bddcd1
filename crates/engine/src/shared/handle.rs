//! A handle on an open store: the shared state, and the background threads.

use crate::shared::Shared;
use crate::shared::background::Background;
use std::sync::Arc;

/// Keeps the background threads running as long as a clone of it lives.
#[derive(Clone)]
pub(crate) struct Handle {
    pub(crate) shared: Arc<Shared>,
    /// The background threads, which end when the last handle that holds them is dropped.
    _threads: Arc<[Background]>,
}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>, threads: impl IntoIterator<Item = Background>) -> Self {
        Self { shared, _threads: threads.into_iter().collect() }
    }

    /// A handle that keeps no thread running, for the work of a background thread itself.
    pub(crate) fn without_threads(shared: &Arc<Shared>) -> Self {
        Self::new(Arc::clone(shared), [])
    }
}
