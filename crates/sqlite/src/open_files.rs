//! Noticing that the store's files were deleted or replaced while they are open.
//!
//! The system keeps a deleted file until its last handle is closed. SQLite would write to it without an error, and
//! everything that is acknowledged by then would be lost. With a write-ahead log, SQLite makes no such check itself.

use crate::connection::{AccessMode, sibling_path};
use atsdb_core::{Error, ErrorKind, Result};
use std::fs;
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
}

fn file_id(path: &Path) -> io::Result<FileId> {
    fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
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
