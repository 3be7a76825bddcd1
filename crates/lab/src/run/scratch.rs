//! The folder that a run works in, and the folders that killed labs have left.
//!
//! A living lab holds a lock on a file in its folder. The system releases the lock when the process ends, however that
//! happens, so a folder whose lock is free is abandoned: the next lab removes it. A process number would not do, since
//! numbers are reused, and containers have their own.

use crate::measure::clock;
use atsdb::{Error, ErrorKind, Result};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

const NAME: &str = "atsdb-lab-";
/// A folder with this suffix is not locked yet.
const NEW: &str = ".new";
const LOCK: &str = "lock";
/// Folders of one process number, living in several containers.
const SAME_NUMBER_MAX: u32 = 1_000;
/// The number of attempts to remove a folder, and the pause between them.
const ATTEMPTS: u32 = 600;
const PAUSE: Duration = Duration::from_millis(50);

/// A folder that is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) folder: PathBuf,
    _lock: File,
}

impl Scratch {
    /// A new one in `directory`.
    pub(crate) fn new(directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory).map_err(|error| refused(directory, error))?;
        for again in 0..SAME_NUMBER_MAX {
            let suffix = if again == 0 { String::new() } else { format!("-{again}") };
            let folder = directory.join(format!("{NAME}{}{suffix}", std::process::id()));
            let new = folder.with_extension(NEW.trim_start_matches('.'));
            if folder.exists() || new.exists() {
                continue;
            }
            return Self::lock(&new, &folder).map_err(|error| refused(&folder, error));
        }
        Err(Error::new(ErrorKind::Unavailable, format!("{} is full of folders of labs", directory.display())))
    }

    /// Locks the folder before it gets its final name, so that no other lab considers it abandoned.
    fn lock(new: &Path, folder: &Path) -> io::Result<Self> {
        // The users of servers must be able to enter it, but not to list it.
        fs::DirBuilder::new().mode(0o711).create(new)?;
        let lock = File::create(new.join(LOCK))?;
        lock.lock()?;
        fs::rename(new, folder)?;
        Ok(Self { folder: folder.to_owned(), _lock: lock })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The next lab removes what is left. A failure here cannot be reported.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn refused(folder: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("cannot make the folder {}: {error}", folder.display()))
        .with_source(error)
        .with_hint("choose another with --dir")
}

/// Removes the folders of killed labs in `directory`, and returns them. Folders of running labs and of other users are
/// kept.
pub fn remove_abandoned(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut abandoned: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_abandoned(path)).collect();
    abandoned.retain(|path| remove(path));
    abandoned.sort();
    abandoned
}

/// Removes a folder, the lock last, so that a folder that cannot be removed completely still counts as abandoned.
pub(super) fn remove(folder: &Path) -> bool {
    for _ in 0..ATTEMPTS {
        let entries: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()).collect();
        let data = entries.iter().filter(|path| !path.ends_with(LOCK));
        let is_done = data.fold(true, |done, path| {
            let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            removed.is_ok() && done
        });
        if is_done && fs::remove_dir_all(folder).is_ok() {
            return true;
        }
        // Processes that the lab had started may be about to end, and write their last.
        clock::sleep(PAUSE);
    }
    false
}

fn is_abandoned(path: &Path) -> bool {
    let is_ours = |name: &str| name.starts_with(NAME) && !name.ends_with(NEW);
    if !path.file_name().and_then(|name| name.to_str()).is_some_and(is_ours) {
        return false;
    }
    // A link may lead anywhere.
    let (Ok(folder), Ok(own)) = (fs::symlink_metadata(path), fs::metadata("/proc/self")) else { return false };
    if !folder.is_dir() || folder.uid() != own.uid() {
        return false;
    }
    File::open(path.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_holds_is_removed() {
        let directory = tempfile::tempdir().expect("a folder");
        let living = Scratch::new(directory.path()).expect("a folder of this lab");
        let other = Scratch::new(directory.path()).expect("another of the same process");
        assert_ne!(living.folder, other.folder);
        let dead = directory.path().join("atsdb-lab-1");
        let (nobodys, unlocked) = (directory.path().join("atsdb-labels"), directory.path().join("atsdb-lab-2"));
        for folder in [&dead, &nobodys, &unlocked] {
            fs::create_dir_all(folder.join("data")).expect("a folder");
        }
        for folder in [&dead, &nobodys] {
            fs::write(folder.join(LOCK), "").expect("a file");
        }
        assert_eq!(remove_abandoned(directory.path()), std::slice::from_ref(&dead));
        assert!(living.folder.exists() && other.folder.exists() && nobodys.exists() && unlocked.exists());
        let folder = living.folder.clone();
        drop(living);
        assert!(!folder.exists());
    }
}
