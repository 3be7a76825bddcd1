//! Room: what all stores' files occupy on the disk, and which of them go first.

use crate::counts;
use crate::file::PageFile;
use crate::folder::store_folders;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file that is kept.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    used: SystemTime,
}

/// All files of all stores. Files that are not the cache's own are passed over.
pub(crate) fn look(root: &Path) -> Vec<Kept> {
    let folders = store_folders(root).into_iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    let is_kept = |entry: &fs::DirEntry| entry.file_name().to_str().is_some_and(PageFile::is_name);
    let kept = |entry: fs::DirEntry| {
        let metadata = entry.metadata().ok().filter(Metadata::is_file)?;
        Some(Kept { path: entry.path(), bytes: on_disk(&metadata), used: metadata.modified().ok()? })
    };
    folders.flatten().filter(is_kept).filter_map(kept).collect()
}

/// Deletes the files that were not used for longest until the rest has at most so many bytes; gives how many it has.
/// Folders of stores that have nothing left go too.
pub(crate) fn make_room(root: &Path, mut kept: Vec<Kept>, bytes_max: u64) -> u64 {
    let mut bytes: u64 = kept.iter().map(|kept| kept.bytes).sum();
    kept.sort_by_key(|kept| kept.used);
    for kept in kept {
        if bytes <= bytes_max {
            break;
        }
        // Another process may have deleted it just now.
        let _ = fs::remove_file(&kept.path);
        bytes -= kept.bytes;
    }
    for folder in store_folders(root) {
        let only_counts = fs::read_dir(&folder).is_ok_and(|mut entries| {
            entries.next().is_none_or(|entry| entry.is_ok_and(|entry| entry.file_name() == counts::NAME))
                && entries.next().is_none()
        });
        if only_counts {
            let _ = fs::remove_file(folder.join(counts::NAME));
        }
        // Refused for one that is not empty.
        let _ = fs::remove_dir(folder);
    }
    bytes
}

#[cfg(unix)]
fn on_disk(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(metadata) * 512
}

#[cfg(not(unix))]
fn on_disk(metadata: &Metadata) -> u64 {
    metadata.len()
}
