//! Objects as files in a directory: each is written under a temporary name, synced, then renamed.

use crate::objects::{Lock, Objects, UNFINISHED};
use atsdb_core::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// An input or output error.
const EIO: i32 = 5;
/// The file that a writer locks.
const LOCK: &str = "lock";

/// A directory.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    location: String,
    /// Makes the names of this process's temporary files unique.
    unfinished: AtomicU64,
    /// The folders that this process has synced into their parents.
    synced: Mutex<HashSet<PathBuf>>,
}

impl Folder {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path)
            .map_err(|error| Error::usage(format!("cannot read the path {path:?}: {error}")).with_source(error))?;
        if path.exists() && !path.is_dir() {
            return Err(Error::new(ErrorKind::NotAStore, format!("{} is not a directory", path.display()))
                .with_hint("name a directory of backups, or one that does not exist yet"));
        }
        let location = path.display().to_string();
        Ok(Self { path, location, unfinished: AtomicU64::new(0), synced: Mutex::default() })
    }

    fn at(&self, what: &str, name: &str, error: io::Error) -> Error {
        let path = self.path.join(name);
        let (kind, hint) = match error.kind() {
            io::ErrorKind::NotFound => (
                ErrorKind::NotFound,
                "check that the directory of the backups is there, and that nothing else changes it",
            ),
            io::ErrorKind::PermissionDenied => (ErrorKind::ReadOnly, "give permission to the directory"),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                (ErrorKind::Unavailable, "free some space: the next backup uses what was written")
            }
            // Linux and macOS use this number for data that the medium cannot read any more.
            _ if error.raw_os_error() == Some(EIO) => (
                ErrorKind::Corrupt,
                "look for errors of the disk in the system's log; run atsdb verify to list all damage",
            ),
            _ => (ErrorKind::Unavailable, "check the disk and the system's log"),
        };
        Error::new(kind, format!("cannot {what} {}: {error}", path.display())).with_hint(hint).with_source(error)
    }

    /// Makes a folder and those above it that are missing. Each is synced into its own parent, because a manifest
    /// counts on the whole path: also one that is there, whose maker may have ended before it synced it.
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        let is_there = path.is_dir();
        let is_synced = || is_there && self.synced.lock().contains(path);
        let Some(parent) = path.parent().filter(|_| !is_synced()) else { return Ok(()) };
        // A mount point and those above it are not part of the archive's file system.
        if is_there && std::fs::metadata(parent)?.dev() != std::fs::metadata(path)?.dev() {
            return Ok(());
        }
        self.make_folder(parent)?;
        if !is_there {
            match DirBuilder::new().mode(0o700).create(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
                made => made?,
            }
        }
        match File::open(parent) {
            // It belongs to somebody else, and so does what is in it.
            Err(error) if is_there && error.kind() == io::ErrorKind::PermissionDenied => {}
            opened => opened?.sync_all()?,
        }
        self.synced.lock().insert(path.to_owned());
        Ok(())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path.join(name);
        let folder = path.parent().unwrap_or(&self.path);
        self.make_folder(folder)?;
        let number = self.unfinished.fetch_add(1, Ordering::Relaxed);
        let unfinished = folder.join(format!("{}-{number}{UNFINISHED}", std::process::id()));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| {
            std::fs::rename(&unfinished, &path)?;
            File::open(folder)?.sync_all()
        });
        if written.is_err() {
            let _ = std::fs::remove_file(&unfinished);
        }
        written
    }

    fn take_lock(&self) -> Result<FolderLock> {
        let open = || {
            self.make_folder(&self.path)?;
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(self.path.join(LOCK))
        };
        let file = open().map_err(|error| self.at("write", LOCK, error))?;
        match file.try_lock() {
            Ok(()) => Ok(FolderLock(file)),
            Err(TryLockError::WouldBlock) => {
                Err(Error::new(ErrorKind::Busy, format!("another backup to {} is running", self.location))
                    .with_hint("retry when it has finished"))
            }
            Err(TryLockError::Error(error)) => Err(self.at("lock", LOCK, error)),
        }
    }

    fn walk(&self, folder: &Path, found: &mut Vec<(String, u64)>) -> io::Result<()> {
        let entries = match std::fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.walk(&path, found)?;
            } else if kind.is_file()
                && let Ok(name) = path.strip_prefix(&self.path)
                && let Some(name) = name.to_str()
            {
                found.push((name.to_owned(), entry.metadata()?.len()));
            }
        }
        Ok(())
    }
}

impl Objects for Folder {
    fn location(&self) -> &str {
        &self.location
    }

    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<()> {
        self.write(name, &bytes).map_err(|error| self.at("write", name, error))
    }

    fn get(&self, name: &str) -> Result<Vec<u8>> {
        std::fs::read(self.path.join(name)).map_err(|error| self.at("read", name, error))
    }

    fn list(&self, folder: &str) -> Result<Vec<(String, u64)>> {
        let mut found = Vec::new();
        self.walk(&self.path.join(folder), &mut found).map_err(|error| self.at("list", folder, error))?;
        found.sort_unstable();
        Ok(found)
    }

    fn is_empty(&self) -> Result<bool> {
        match std::fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(self.at("list", "", error)),
            Ok(mut entries) => Ok(!entries.any(|entry| entry.is_ok_and(|entry| entry.file_name() != LOCK))),
        }
    }

    fn delete(&self, name: &str) -> Result<()> {
        match std::fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.at("delete", name, error)),
            _ => Ok(()),
        }
    }

    fn lock(&self) -> Result<Box<dyn Lock>> {
        Ok(Box::new(self.take_lock()?))
    }

    fn at_once(&self) -> usize {
        4
    }
}

/// The locked file. The operating system releases the lock when the process ends.
struct FolderLock(File);

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that was just started from this one has it open until it runs its
        // own program.
        let _ = self.0.unlock();
    }
}

impl Lock for FolderLock {
    fn require(&self) -> Result<()> {
        Ok(())
    }

    fn confirm(&self) -> Result<()> {
        Ok(())
    }

    fn is_inherited(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_path_of_an_archive_is_synced_although_it_was_there_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("of_host/archive");
        std::fs::create_dir_all(path.join("chunks/aa")).unwrap();
        let folder = Folder::open(&path).unwrap();
        drop(folder.take_lock().unwrap());
        let are_synced =
            |path: &Path, count| path.ancestors().take(count).all(|path| folder.synced.lock().contains(path));
        assert!(are_synced(&path, 2));
        folder.put("chunks/aa/one", vec![1]).unwrap();
        assert!(are_synced(&path.join("chunks/aa"), 4));
    }

    #[test]
    fn every_error_of_the_system_says_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(directory.path()).unwrap();
        let kinds = [io::ErrorKind::NotFound, io::ErrorKind::StorageFull, io::ErrorKind::TimedOut];
        let errors = kinds.into_iter().map(io::Error::from).chain([io::Error::from_raw_os_error(EIO)]);
        for error in errors.map(|error| folder.at("read", "chunks/aa/one", error)) {
            assert!(error.message().contains("chunks/aa/one") && error.hint().is_some(), "{error}");
        }
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(Folder::open(&file).unwrap_err().hint().is_some());
    }

    #[test]
    fn a_lock_ends_although_a_process_that_was_just_started_has_the_file_open() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(directory.path()).unwrap();
        let lock = folder.take_lock().unwrap();
        assert_eq!(folder.lock().err().map(|error| error.kind()), Some(ErrorKind::Busy));
        // Such a process has this descriptor of the same open file.
        let inherited = lock.0.try_clone().unwrap();
        drop(lock);
        folder.lock().unwrap();
        drop(inherited);
    }
}
