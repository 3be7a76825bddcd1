//! Finds out which access to a store's file the system refuses. SQLite does not report why it could not open one.

use atsdb_core::{Error, ErrorKind, Result};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Refuses a path at which no store can be created: its folder does not exist, or takes no new files. Nothing is left
/// there.
pub fn check_place(path: &Path) -> Result<()> {
    let refuse = |error: io::Error| {
        Error::new(ErrorKind::Unavailable, format!("cannot create {}: {error}", path.display()))
            .with_hint("check that you may write the directory")
            .with_source(error)
    };
    let absolute = std::path::absolute(path).map_err(refuse)?;
    require_folder(&absolute)?;
    refused_beside(&absolute).map_or(Ok(()), |error| Err(refuse(error)))
}

/// Refuses an absolute path in a folder that does not exist.
pub(crate) fn require_folder(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    if folder.is_dir() {
        return Ok(());
    }
    Err(Error::not_found(format!("the directory {} does not exist", folder.display()))
        .with_hint("create it first, or correct the path"))
}

/// Why no file can be created beside the store, if so.
pub(crate) fn refused_beside(path: &Path) -> Option<io::Error> {
    let mut probe = path.as_os_str().to_owned();
    probe.push(format!("-probe-{}", std::process::id()));
    match OpenOptions::new().write(true).create_new(true).open(&probe) {
        Ok(_) => {
            let _ = std::fs::remove_file(&probe);
            None
        }
        Err(error) => Some(error),
    }
}

/// Returns the system's error of opening the store's file, or of creating it if it is missing; `None` if that is
/// possible.
pub(crate) fn refused_at(path: &Path) -> Option<io::Error> {
    let opened = File::open(path);
    opened.err().filter(|error| error.kind() != io::ErrorKind::NotFound).or_else(|| refused_beside(path))
}
