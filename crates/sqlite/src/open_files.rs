//! Noticing that the store's files were deleted or replaced while they are open.
//!
//! The system keeps a deleted file until its last handle is closed. SQLite would write to it without an error, and
//! everything that is acknowledged by then would be lost. With a write-ahead log, SQLite makes no such check itself.

use crate::connection::{AccessMode, sibling_path};
use atsdb_core::{Error, ErrorKind, Result};
use std::fs::{self, File, Metadata};
use std::io;
use std::iter;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The device and the inode of a file.
type FileId = (u64, u64);

/// The files of a store that are open, as their paths named them when they were opened.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenFiles {
    opened: Vec<(PathBuf, FileId)>,
}

impl OpenFiles {
    /// The files of a store that has just been opened: the file itself, and for a writer the log and the log's index,
    /// which then exist as long as it is open.
    pub(crate) fn new(path: &Path, access: AccessMode) -> Result<Self> {
        let id = file_id(path).map_err(|error| lost(path, &error))?;
        let endings: &[&str] = match access {
            AccessMode::Write => &["-wal", "-shm"],
            // The index is in memory.
            AccessMode::WriteExclusive => &["-wal"],
            AccessMode::Read | AccessMode::ReadExclusive | AccessMode::Immutable => &[],
        };
        // SQLite resolves links before it names the log.
        let resolved = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let siblings = endings.iter().map(|ending| sibling_path(&resolved, ending));
        let siblings = siblings.filter_map(|sibling| file_id(&sibling).ok().map(|id| (sibling, id)));
        Ok(Self { opened: iter::once((path.to_owned(), id)).chain(siblings).collect() })
    }

    /// Fails with `Unavailable` if a path no longer names the file that is open.
    pub(crate) fn check(&self) -> Result<()> {
        for (path, id) in &self.opened {
            match file_id(path) {
                Ok(now) if now == *id => {}
                Ok(_) => return Err(unusable(path, "was replaced")),
                // Nothing shows that the file is gone.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(error) => return Err(lost(path, &error)),
            }
        }
        Ok(())
    }

    /// Opens the log once more, to read and write it. Fails if its path no longer names the log that SQLite has open.
    /// Only the log may be opened like this: closing another file would release the locks that SQLite holds on it.
    pub(crate) fn reopen_log(&self, log: &Path) -> io::Result<File> {
        let file = File::options().read(true).write(true).open(log)?;
        let id = id_of(&file.metadata()?);
        if self.opened.iter().any(|(path, opened)| path == log && *opened == id) {
            return Ok(file);
        }
        Err(io::Error::other("it was replaced while the store was open"))
    }
}

fn file_id(path: &Path) -> io::Result<FileId> {
    fs::metadata(path).map(|metadata| id_of(&metadata))
}

fn id_of(metadata: &Metadata) -> FileId {
    (metadata.dev(), metadata.ino())
}

fn lost(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => unusable(path, "was deleted or moved"),
        _ => unusable(path, &format!("cannot be found any more ({error})")),
    }
}

fn unusable(path: &Path, problem: &str) -> Error {
    let message = format!("{} {problem} while the store was open: nothing is acknowledged any more", path.display());
    Error::new(ErrorKind::Unavailable, message)
        .with_hint("move the file back if it was moved; otherwise restore a backup, and open the store again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::log_path;

    #[test]
    fn a_log_that_was_replaced_is_not_opened_again() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("a.db");
        fs::write(&path, "file").unwrap();
        let log = log_path(&path);
        fs::write(&log, "log").unwrap();
        let files = OpenFiles::new(&path, AccessMode::WriteExclusive).unwrap();
        files.reopen_log(&log).unwrap();
        // The file keeps its inode, so that the other one gets another.
        fs::rename(&log, scratch.path().join("moved")).unwrap();
        assert_eq!(files.reopen_log(&log).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(&log, "other").unwrap();
        let error = files.reopen_log(&log).unwrap_err();
        assert!(error.to_string().contains("was replaced"), "{error}");
        assert_eq!(fs::read(&log).unwrap(), b"other");
    }
}
