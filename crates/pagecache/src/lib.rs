//! The page cache (L2): encoded pages of a store on a server, kept in files on this machine. So a page that was read
//! once does not cross the network again, not even for the next process.
//!
//! Owned here: the folder, one file for each chunk ([`file`](self)), and a background thread that writes and evicts.
//! Not owned: what pages mean and whether they are intact; the reader checks each page, and a damaged one counts as not
//! cached. Also not owned: the list of existing chunks. It is read from the store each time, so nothing here is ever
//! stale.
//!
//! A page is in the file named after its chunk's 128-bit name, which no other chunk ever has, at an offset that follows
//! from the chunk's descriptor. All processes write the same bytes there. So processes need no locks, a file may be
//! deleted at any time, and a page that a crash left half written fails its check. `docs/internals/caches.md` lists the
//! rejected designs.

mod counts;
mod eviction;
mod file;
mod folder;
mod warnings;
mod writer;

pub use file::{PageFile, PageRange};
pub use warnings::OnWarning;

use crate::folder::StoreFolder;
use crate::warnings::{WarningKind, Warnings};
use crate::writer::Writer;
use parking_lot::Mutex;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The location and the size limit of the cache.
#[derive(Clone)]
pub struct PageCacheOptions {
    /// The folder of all stores' caches.
    pub folder: PathBuf,
    /// The maximum size of this folder on disk, in bytes.
    pub bytes_max: u64,
    /// Receives warnings about damage, full disks and the like, each kind once.
    pub on_warning: OnWarning,
}

impl fmt::Debug for PageCacheOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { folder, bytes_max, .. } = self;
        f.debug_struct("PageCacheOptions").field("folder", folder).field("bytes_max", bytes_max).finish()
    }
}

/// Statistics of the cache. Unless noted otherwise, they count this process only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageCacheStats {
    /// The folder of all stores' caches.
    pub folder: PathBuf,
    /// The number of pages found in the cache.
    pub hits: u64,
    /// The number of pages that were read from the store.
    pub misses: u64,
    /// The number of pages of this store that any process ever found in the cache.
    pub hits_ever: u64,
    /// The number of pages that any process ever read from this store.
    pub misses_ever: u64,
    /// The number of misses caused by damaged pages.
    pub damaged: u64,
    /// The size of all stores' caches on disk, in bytes.
    pub bytes: u64,
    /// The maximum size on disk, in bytes.
    pub bytes_max: u64,
}

impl PageCacheStats {
    /// The share of hits among the lookups, 0 to 1; `None` before the first lookup.
    pub fn hit_rate(&self) -> Option<f64> {
        let lookups = self.hits + self.misses;
        (lookups > 0).then(|| self.hits as f64 / lookups as f64)
    }
}

/// One store's part of the cache. Dropping it writes queued pages.
pub struct PageCache {
    folder: Arc<StoreFolder>,
    warnings: Arc<Warnings>,
    bytes_max: u64,
    writer: Writer,
    hits: AtomicU64,
    misses: AtomicU64,
    damaged: AtomicU64,
    /// The hits and misses that are included in the counters of all processes.
    counted: Mutex<(u64, u64)>,
}

impl fmt::Debug for PageCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageCache").field("folder", &self.folder.path()).finish_non_exhaustive()
    }
}

impl PageCache {
    /// Opens the cache of a store with this URL (without secrets) and uid. Returns `None`, after a warning, if there
    /// can be no cache: if the folder cannot be written, or others can write to it.
    pub fn open(options: &PageCacheOptions, url: &str, uid: [u8; 16]) -> Option<Self> {
        let warnings = Arc::new(Warnings::new(Arc::clone(&options.on_warning)));
        match StoreFolder::open(&options.folder, url, uid) {
            Ok(folder) => {
                let folder = Arc::new(folder);
                let writer = Writer::new(Arc::clone(&folder), Arc::clone(&warnings), options.bytes_max);
                let (hits, misses, damaged, counted) = Default::default();
                Some(Self { folder, warnings, bytes_max: options.bytes_max, writer, hits, misses, damaged, counted })
            }
            Err(why) => {
                warnings.warn_once(WarningKind::Folder, || {
                    format!("pages are not kept on this machine: {}: {why}", options.folder.display())
                });
                None
            }
        }
    }

    /// Reads pages of a file, in the given order; `None` for a page that is missing or damaged. `is_whole` checks a
    /// page by its position and its bytes.
    pub fn read(
        &self,
        file: &PageFile,
        ranges: &[PageRange],
        is_whole: impl Fn(usize, &[u8]) -> bool,
    ) -> Vec<Option<Vec<u8>>> {
        let path = self.folder.path_of(file);
        let mut pages = file::read(&path, ranges).unwrap_or_else(|error| {
            self.warnings.warn_once(WarningKind::Reading, || {
                format!("{}: {error}; the pages are read from the store", self.folder.shown())
            });
            vec![None; ranges.len()]
        });
        for (position, page) in pages.iter_mut().enumerate() {
            let is_torn = |page: &Option<Vec<u8>>| page.as_ref().is_some_and(|bytes| !is_whole(position, bytes));
            if !is_torn(page) {
                continue;
            }
            // A writer may just have been writing it.
            *page = file::read_locked(&path, ranges[position]).unwrap_or_default();
            if is_torn(page) {
                *page = None;
                self.damaged.fetch_add(1, Ordering::Relaxed);
                let problem =
                    || format!("{}: a page of {file} is damaged; it is read from the store", self.folder.shown());
                self.warnings.warn_once(WarningKind::Damage, problem);
            }
        }
        let hits = pages.iter().flatten().count() as u64;
        self.hits.fetch_add(hits, Ordering::Relaxed);
        self.misses.fetch_add(pages.len() as u64 - hits, Ordering::Relaxed);
        pages
    }

    /// Caches pages, each at its range of the file. They are written in the background, or dropped if the disk is too
    /// slow.
    pub fn keep(&self, file: PageFile, pages: Vec<(PageRange, Vec<u8>)>) {
        self.writer.keep(file, pages);
    }

    /// Waits until all queued pages are written.
    pub fn flush(&self) {
        self.writer.flush();
    }

    /// Returns the statistics.
    pub fn stats(&self) -> PageCacheStats {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (hits_ever, misses_ever) = self.count();
        PageCacheStats {
            folder: self.folder.root().to_owned(),
            hits: count(&self.hits),
            misses: count(&self.misses),
            hits_ever,
            misses_ever,
            damaged: count(&self.damaged),
            bytes: eviction::scan(self.folder.root()).bytes(),
            bytes_max: self.bytes_max,
        }
    }

    /// Adds this process's hits and misses to those of all processes, and returns the sums.
    fn count(&self) -> (u64, u64) {
        let mut counted = self.counted.lock();
        let own = (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed));
        match counts::add(self.folder.path(), own.0 - counted.0, own.1 - counted.1) {
            Ok(all) => {
                *counted = own;
                all
            }
            // Nothing depends on these counters.
            Err(_) => own,
        }
    }

    /// Returns the folder of this store's pages. It is created with the first page.
    pub fn store_folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for PageCache {
    fn drop(&mut self) {
        if self.hits.load(Ordering::Relaxed) + self.misses.load(Ordering::Relaxed) > 0 {
            // The folder of the counters is created with the first page.
            self.flush();
            self.count();
        }
    }
}
