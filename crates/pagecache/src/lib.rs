//! The page cache (L2): encoded pages of a store on a server, kept in files on this machine, so that what was read once
//! does not cross the network again, also not for the next process.
//!
//! Owned here: the folder, one file for each chunk ([`file`](self)), a thread that writes behind the readers' backs and
//! makes room. Not owned: what pages mean and whether one is whole; whoever reads says so, and a page that is not is as if
//! it had never been kept. Nor which chunks there are: that is asked of the store each time, so nothing here is ever stale.
//!
//! A page lies in the file of its chunk's 128-bit name, which no other chunk ever has, at a place that the chunk's
//! descriptor tells. Whoever writes there writes the same bytes: so processes need no locks, a file may go at any time, and
//! what a crash left half written fails its check. `docs/internals/caches.md` tells what was rejected.

mod counts;
mod file;
mod folder;
mod room;
mod warn;
mod writer;

pub use file::{PageFile, Place};
pub use warn::OnWarning;

use crate::folder::StoreFolder;
use crate::warn::{Kind, Warnings};
use crate::writer::Writer;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where the cache lies, and how large it becomes.
#[derive(Clone)]
pub struct PageCacheOptions {
    /// The folder of all stores' caches.
    pub folder: PathBuf,
    /// The most bytes on the disk of all that lies in it.
    pub bytes_max: u64,
    /// Who is told of damage, full disks and the like: once of each.
    pub on_warning: OnWarning,
}

impl fmt::Debug for PageCacheOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { folder, bytes_max, .. } = self;
        f.debug_struct("PageCacheOptions").field("folder", folder).field("bytes_max", bytes_max).finish()
    }
}

/// How the cache does. Where nothing else is said, the numbers are this process's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageCacheStats {
    /// The folder of all stores' caches.
    pub folder: PathBuf,
    /// Pages that were found.
    pub hits: u64,
    /// Pages that had to be asked of the store.
    pub misses: u64,
    /// Pages of the store that any process ever found here.
    pub hits_ever: u64,
    /// Pages of it that any process ever had to ask of the store.
    pub misses_ever: u64,
    /// Of the misses, those that were found, but damaged.
    pub damaged: u64,
    /// Bytes on the disk, of all stores.
    pub bytes: u64,
    /// The most bytes on the disk.
    pub bytes_max: u64,
}

impl PageCacheStats {
    /// Hits per lookup, 0 to 1; `None` before the first.
    pub fn hit_rate(&self) -> Option<f64> {
        let lookups = self.hits + self.misses;
        (lookups > 0).then(|| self.hits as f64 / lookups as f64)
    }
}

/// One store's part of the cache. What waits to be written is written before it is gone.
pub struct PageCache {
    folder: Arc<StoreFolder>,
    warnings: Arc<Warnings>,
    bytes_max: u64,
    writer: Writer,
    hits: AtomicU64,
    misses: AtomicU64,
    damaged: AtomicU64,
    /// Hits and misses that are in the counts of all processes.
    counted: Mutex<(u64, u64)>,
}

impl fmt::Debug for PageCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageCache").field("folder", &self.folder.path()).finish_non_exhaustive()
    }
}

impl PageCache {
    /// The cache of the store at a URL (without secrets), whose uid is that. `None`, and a warning, where there can be
    /// none: a folder that cannot be written, or that others can write.
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
                warnings.tell(Kind::Folder, || {
                    format!("pages are not kept on this machine: {}: {why}", options.folder.display())
                });
                None
            }
        }
    }

    /// Pages of a file, in the order asked; `None` is one that is not there, or not whole. `is_whole` is asked with its
    /// position and its bytes.
    pub fn read(
        &self,
        file: &PageFile,
        places: &[Place],
        is_whole: impl Fn(usize, &[u8]) -> bool,
    ) -> Vec<Option<Vec<u8>>> {
        let path = self.folder.path_of(file);
        let mut pages = file::read(&path, places).unwrap_or_else(|error| {
            self.warnings.tell(Kind::Reading, || format!("{}: {error}; the store is asked", self.folder.shown()));
            vec![None; places.len()]
        });
        for (position, page) in pages.iter_mut().enumerate() {
            let is_torn = |page: &Option<Vec<u8>>| page.as_ref().is_some_and(|bytes| !is_whole(position, bytes));
            if !is_torn(page) {
                continue;
            }
            // Its writer may have been at it.
            *page = file::read_at_rest(&path, places[position]).unwrap_or_default();
            if is_torn(page) {
                *page = None;
                self.damaged.fetch_add(1, Ordering::Relaxed);
                let problem = || format!("{}: a page of {file} is damaged; the store is asked", self.folder.shown());
                self.warnings.tell(Kind::Damage, problem);
            }
        }
        let hits = pages.iter().flatten().count() as u64;
        self.hits.fetch_add(hits, Ordering::Relaxed);
        self.misses.fetch_add(pages.len() as u64 - hits, Ordering::Relaxed);
        pages
    }

    /// Keeps pages, each at its place in the file: soon, and if the disk keeps up.
    pub fn keep(&self, file: PageFile, pages: Vec<(Place, Vec<u8>)>) {
        self.writer.keep(file, pages);
    }

    /// Waits until everything that was to be kept is in its files.
    pub fn flush(&self) {
        self.writer.flush();
    }

    /// How it does.
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
            bytes: room::look(self.folder.root()).bytes(),
            bytes_max: self.bytes_max,
        }
    }

    /// Adds this process's hits and misses to those of all, and gives these.
    fn count(&self) -> (u64, u64) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let own = (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed));
        match counts::add(self.folder.path(), own.0 - counted.0, own.1 - counted.1) {
            Ok(all) => {
                *counted = own;
                all
            }
            // Nothing depends on it.
            Err(_) => own,
        }
    }

    /// The folder of this store's pages; made when the first one is kept.
    pub fn store_folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for PageCache {
    fn drop(&mut self) {
        if self.hits.load(Ordering::Relaxed) + self.misses.load(Ordering::Relaxed) > 0 {
            // The counts' folder is made with the first page.
            self.flush();
            self.count();
        }
    }
}
