//! Many objects at once: most of the time of a distant one is waiting.

use atsdb_core::Result;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Some threads take one item after the other. The first error stops them.
pub(crate) fn for_each<I: Sync>(threads: usize, items: &[I], work: impl Fn(&I) -> Result<()> + Sync) -> Result<()> {
    let (next, stop, failed) = (AtomicUsize::new(0), AtomicBool::new(false), Mutex::new(None));
    let run = || {
        while !stop.load(Ordering::Relaxed) {
            let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            if let Err(error) = work(item) {
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                stop.store(true, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(items.len()) {
            // Where no thread can be had, this one does it all.
            let _ = std::thread::Builder::new().name("atsdb-archive".into()).spawn_scoped(scope, run);
        }
        run();
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
