//! Figures of the caches of a store in this process and on this machine.

use crate::read::snapshot::ReadSnapshot;
use crate::shared::Shared;
use std::path::PathBuf;

/// Figures of one cache.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheFigures {
    /// `preload`, `columns` or `pages`, in the order in which reads use them.
    pub name: &'static str,
    /// The folder of the cache; `None` for the memory of this process.
    pub folder: Option<PathBuf>,
    /// Lookups that found their column or page.
    pub hits: u64,
    /// Lookups that did not. `None` if they are not counted.
    pub misses: Option<u64>,
    /// Size in bytes.
    pub bytes: u64,
    /// Maximum size in bytes.
    pub bytes_max: u64,
}

impl CacheFigures {
    /// Hits per lookup, from 0 to 1. `None` before the first lookup.
    pub fn hit_rate(&self) -> Option<f64> {
        let lookups = self.hits + self.misses?;
        (lookups > 0).then(|| self.hits as f64 / lookups as f64)
    }
}

impl ReadSnapshot {
    /// The caches of the snapshot's engine.
    pub fn caches(&self) -> Vec<CacheFigures> {
        caches(&self.inner.shared)
    }
}

pub(crate) fn caches(shared: &Shared) -> Vec<CacheFigures> {
    let (preload, columns) = (shared.preloaded.stats(), shared.cache.stats());
    let in_memory =
        |name, hits, misses, bytes, bytes_max| CacheFigures { name, folder: None, hits, misses, bytes, bytes_max };
    let mut caches = vec![
        in_memory("preload", preload.hits, None, preload.bytes, preload.bytes_max),
        in_memory("columns", columns.hits, Some(columns.misses), columns.bytes, columns.bytes_max),
    ];
    caches.extend(shared.page_cache.as_ref().map(|cache| cache.stats()).map(|pages| CacheFigures {
        name: "pages",
        folder: Some(pages.folder),
        hits: pages.hits_ever,
        misses: Some(pages.misses_ever),
        bytes: pages.bytes,
        bytes_max: pages.bytes_max,
    }));
    caches
}
