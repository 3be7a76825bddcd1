//! Warnings: once of each kind, however often it happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Who is told, in sentences, of what the cache cannot do. No reader ever gets an error of it.
pub type OnWarning = Arc<dyn Fn(&str) + Send + Sync>;

/// What can go wrong.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Folder,
    Damage,
    Reading,
    Writing,
}

pub(crate) struct Warnings {
    on_warning: OnWarning,
    told: [AtomicBool; 4],
}

impl Warnings {
    pub(crate) fn new(on_warning: OnWarning) -> Self {
        Self { on_warning, told: Default::default() }
    }

    pub(crate) fn tell(&self, kind: Kind, sentence: impl FnOnce() -> String) {
        if !self.told[kind as usize].swap(true, Ordering::Relaxed) {
            (self.on_warning)(&sentence());
        }
    }
}
