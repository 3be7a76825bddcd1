//! Warnings, each kind at most once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Receives warnings, as sentences, about failures of the cache. Readers never get an error from the cache.
pub type OnWarning = Arc<dyn Fn(&str) + Send + Sync>;

/// The kinds of warnings.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WarningKind {
    Folder,
    Damage,
    Reading,
    Writing,
}

pub(crate) struct Warnings {
    on_warning: OnWarning,
    is_reported: [AtomicBool; 4],
}

impl Warnings {
    pub(crate) fn new(on_warning: OnWarning) -> Self {
        Self { on_warning, is_reported: Default::default() }
    }

    pub(crate) fn warn_once(&self, kind: WarningKind, sentence: impl FnOnce() -> String) {
        if !self.is_reported[kind as usize].swap(true, Ordering::Relaxed) {
            (self.on_warning)(&sentence());
        }
    }
}
