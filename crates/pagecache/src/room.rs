//! Room: what all stores' files occupy on the disk, and which of them go first.

use crate::counts;
use crate::file::PageFile;
use crate::folder::store_folders;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Files that were not used for so long go, however much room there is: their store may be gone for ever.
const UNUSED_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);

/// What lies in the folder of all stores.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    files: Vec<KeptFile>,
    /// Of the stores' folders themselves, and of their counts.
    folder_bytes: u64,
}

/// A file of pages.
#[derive(Debug)]
struct KeptFile {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

impl Kept {
    /// On the disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.folder_bytes + self.files.iter().map(|file| file.bytes).sum::<u64>()
    }
}

/// All files of all stores. Files that are not the cache's own are skipped.
pub(crate) fn look(root: &Path) -> Kept {
    let mut kept = Kept::default();
    for folder in store_folders(root) {
        kept.folder_bytes += fs::metadata(&folder).map_or(0, |metadata| on_disk(&metadata));
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (name, metadata) = (entry.file_name(), entry.metadata().ok().filter(Metadata::is_file));
            let (Some(name), Some(metadata)) = (name.to_str(), metadata) else { continue };
            let bytes = on_disk(&metadata);
            if name == counts::NAME {
                kept.folder_bytes += bytes;
            } else if let Some(used) = metadata.modified().ok().filter(|_| PageFile::is_name(name)) {
                kept.files.push(KeptFile { path: entry.path(), bytes, used });
            }
        }
    }
    kept
}

/// Deletes the files that nobody has used for [`UNUSED_MAX`], and gives the others. Folders of stores that have nothing
/// left go too.
pub(crate) fn forget_unused(root: &Path, kept: Kept, now: SystemTime) -> Kept {
    let is_unused = |file: &KeptFile| now.duration_since(file.used).is_ok_and(|unused| unused > UNUSED_MAX);
    let (unused, files): (Vec<KeptFile>, Vec<KeptFile>) = kept.files.into_iter().partition(is_unused);
    for file in &unused {
        // Another process may have deleted it just now.
        let _ = fs::remove_file(&file.path);
    }
    for folder in store_folders(root) {
        let changed = fs::metadata(folder.join(counts::NAME)).or_else(|_| fs::metadata(&folder));
        let unused = changed.and_then(|metadata| metadata.modified()).map(|changed| now.duration_since(changed));
        if unused.is_ok_and(|unused| unused.is_ok_and(|unused| unused > UNUSED_MAX)) {
            remove_if_empty(&folder);
        }
    }
    Kept { files, ..kept }
}

/// Deletes the files that were not used for longest until the rest has at most so many bytes. Folders of stores that have
/// nothing left go too.
pub(crate) fn make_room(root: &Path, mut kept: Kept, bytes_max: u64) {
    let mut bytes = kept.bytes();
    // The folders of stores without pages first: they may be all that is too much.
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

/// Removes a store's folder in which no page is left; gives how many bytes it had.
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
    // Refused for one that is not empty any more.
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
