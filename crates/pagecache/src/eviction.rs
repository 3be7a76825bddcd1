//! Eviction: measures the disk space of all stores' files, and deletes the least recently used ones first.

use crate::counts;
use crate::file::PageFile;
use crate::folder::store_folders;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Files that were not used for this long are deleted even if there is room: their store may no longer exist.
const UNUSED_AGE_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);

/// The contents of the cache folder of all stores.
#[derive(Debug, Default)]
pub(crate) struct CacheContents {
    files: Vec<CachedFile>,
    /// The size of the stores' folders themselves and of their counters.
    folder_bytes: u64,
}

/// A cache file.
#[derive(Debug)]
struct CachedFile {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

impl CacheContents {
    /// Returns the size on disk in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.folder_bytes + self.files.iter().map(|file| file.bytes).sum::<u64>()
    }
}

/// Lists all files of all stores. Files that do not belong to the cache are skipped.
pub(crate) fn scan(root: &Path) -> CacheContents {
    let mut kept = CacheContents::default();
    for folder in store_folders(root) {
        kept.folder_bytes += fs::metadata(&folder).map_or(0, |metadata| on_disk(&metadata));
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (name, metadata) = (entry.file_name(), entry.metadata().ok().filter(Metadata::is_file));
            let (Some(name), Some(metadata)) = (name.to_str(), metadata) else { continue };
            let bytes = on_disk(&metadata);
            if name == counts::NAME {
                kept.folder_bytes += bytes;
            } else if let Some(used) = metadata.modified().ok().filter(|_| PageFile::is_name(name)) {
                kept.files.push(CachedFile { path: entry.path(), bytes, used });
            }
        }
    }
    kept
}

/// Deletes the files that were not used for [`UNUSED_AGE_MAX`], and returns the others. Folders of stores without files
/// are deleted too.
pub(crate) fn delete_unused(root: &Path, kept: CacheContents, now: SystemTime) -> CacheContents {
    let is_unused = |file: &CachedFile| now.duration_since(file.used).is_ok_and(|unused| unused > UNUSED_AGE_MAX);
    let (unused, files): (Vec<CachedFile>, Vec<CachedFile>) = kept.files.into_iter().partition(is_unused);
    for file in &unused {
        // Another process may have deleted it just now.
        let _ = fs::remove_file(&file.path);
    }
    for folder in store_folders(root) {
        let changed = fs::metadata(folder.join(counts::NAME)).or_else(|_| fs::metadata(&folder));
        let unused = changed.and_then(|metadata| metadata.modified()).map(|changed| now.duration_since(changed));
        if unused.is_ok_and(|unused| unused.is_ok_and(|unused| unused > UNUSED_AGE_MAX)) {
            remove_if_empty(&folder);
        }
    }
    CacheContents { files, ..kept }
}

/// Deletes the least recently used files until the rest has at most `bytes_max` bytes. Folders of stores without files
/// are deleted too.
pub(crate) fn evict(root: &Path, mut kept: CacheContents, bytes_max: u64) {
    let mut bytes = kept.bytes();
    // Folders of stores without pages come first, since they alone may exceed the limit.
    for folder in store_folders(root) {
        bytes -= remove_if_empty(&folder).min(bytes);
    }
    kept.files.sort_by_key(|file| file.used);
    for file in kept.files {
        if bytes <= bytes_max {
            break;
        }
        let _ = fs::remove_file(&file.path);
        bytes -= file.bytes.min(bytes);
        bytes -= file.path.parent().map_or(0, remove_if_empty).min(bytes);
    }
}

/// Removes a store's folder that contains no pages, and returns how many bytes it had.
fn remove_if_empty(folder: &Path) -> u64 {
    let only_counts = fs::read_dir(folder).is_ok_and(|mut entries| {
        entries.next().is_none_or(|entry| entry.is_ok_and(|entry| entry.file_name() == counts::NAME))
            && entries.next().is_none()
    });
    if !only_counts {
        return 0;
    }
    let bytes_of = |path: &Path| fs::metadata(path).map_or(0, |metadata| on_disk(&metadata));
    let counts = folder.join(counts::NAME);
    let bytes = bytes_of(folder) + bytes_of(&counts);
    let _ = fs::remove_file(counts);
    // This fails if the folder is no longer empty.
    fs::remove_dir(folder).map_or(0, |()| bytes)
}

#[cfg(unix)]
fn on_disk(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(metadata) * 512
}

#[cfg(not(unix))]
fn on_disk(metadata: &Metadata) -> u64 {
    metadata.len()
}
