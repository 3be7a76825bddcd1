//! The folder of a split store: the locations of its catalogue and its page files, and checks of what is at the path.

use crate::access::require_folder;
use crate::options::SqliteOptions;
use crate::split::layout::SplitLayout;
use atsdb_core::{Error, ErrorKind, Result};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const CATALOGUE: &str = "atsdb.db";
const PAGES: &str = "pages";

/// A folder that is a split store or will become one.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
}

impl Folder {
    /// Returns the path of the SQLite file that decides what is visible.
    pub(crate) fn catalogue(&self) -> PathBuf {
        self.path.join(CATALOGUE)
    }

    /// Returns the folder of the page files.
    pub(crate) fn pages(&self) -> PathBuf {
        self.path.join(PAGES)
    }

    /// Creates the folder. Several processes may do so at once.
    fn create(&self) -> Result<()> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        made.map_err(|error| unavailable("create the store", &self.path, error))
    }

    /// Creates the folder of the page files if it does not exist. With `durable` the names of both folders are on disk
    /// afterwards, so that nothing acknowledged depends on a name that a power cut removes. The process that created
    /// them may have ended before they were.
    pub(crate) fn create_pages(&self, durable: bool) -> Result<()> {
        let pages = self.pages();
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&pages);
        made.map_err(|error| unavailable("create", &pages, error))?;
        if durable {
            sync_directory(&self.path)?;
            self.path.parent().map_or(Ok(()), sync_directory)?;
        }
        Ok(())
    }

    /// Returns whether the folder contains only what creating a store puts there.
    fn is_fresh(&self) -> Result<bool> {
        let entries = fs::read_dir(&self.path).map_err(|error| unavailable("list", &self.path, error))?;
        for entry in entries {
            let name = entry.map_err(|error| unavailable("list", &self.path, error))?.file_name();
            let name = name.to_string_lossy();
            if !name.starts_with(CATALOGUE) && name != PAGES {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Makes the names in a folder durable.
pub(crate) fn sync_directory(folder: &Path) -> Result<()> {
    match fs::File::open(folder).and_then(|folder| folder.sync_all()) {
        // A folder that may be entered but not listed must have been created by another user before.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        other => other.map_err(|error| unavailable("make durable", folder, error)),
    }
}

/// The error for a folder or file that cannot be used.
pub(crate) fn unavailable(work: &str, path: &Path, error: io::Error) -> Error {
    let location = path.display();
    let unavailable = |message: String, hint: &str| Error::new(ErrorKind::Unavailable, message).with_hint(hint);
    let failure = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            let message = format!("disk full at {location}: this call stored nothing");
            unavailable(message, "free some space and retry; reading still works")
        }
        io::ErrorKind::FileTooLarge => {
            let message = format!("cannot {work} {location}: {error}");
            unavailable(message, "raise the limit on the size of files: ulimit -f unlimited")
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            let message = format!("cannot {work} {location}: {error}");
            unavailable(message, "check that you may read and write the folder and what is in it")
        }
        _ => unavailable(format!("cannot {work} {location}: {error}"), "check the disk and the system's log"),
    };
    failure.with_source(error)
}

/// Returns the folder, if the path is that of a split store or will become one. It is created if requested. Returns
/// `None` for a store in one file.
pub(crate) fn find_or_create(
    path: &Path,
    layout: Option<SplitLayout>,
    options: &SqliteOptions,
) -> Result<Option<Folder>> {
    let (location, folder) = (path.display(), Folder { path: path.to_owned() });
    let create = options.create && !options.read_only;
    match (fs::metadata(path), layout) {
        (Ok(metadata), _) if metadata.is_dir() && folder.catalogue().exists() => Ok(Some(folder)),
        (Ok(metadata), None) if metadata.is_dir() => {
            Err(Error::new(ErrorKind::NotAStore, format!("{location} is a directory, not a split store"))
                .with_hint("name a file in it, or add ?split=slice or ?shards=N to make a split store of an empty one"))
        }
        (Ok(metadata), Some(_)) if metadata.is_dir() && create => {
            if !folder.is_fresh()? {
                return Err(Error::new(ErrorKind::NotAStore, format!("the directory {location} holds something else"))
                    .with_hint("name an empty directory, or one that does not exist yet"));
            }
            folder.create()?;
            Ok(Some(folder))
        }
        (Ok(metadata), Some(layout)) if !metadata.is_dir() => {
            let message = format!("{location} is a file; a store with {} is a directory", layout.split);
            Err(Error::new(ErrorKind::NotAStore, message).with_hint("leave the option out, or name another path"))
        }
        (Err(error), Some(_)) if error.kind() == io::ErrorKind::NotFound && create => {
            require_folder(path)?;
            folder.create()?;
            Ok(Some(folder))
        }
        (Ok(_), Some(_)) => {
            Err(Error::not_found(format!("there is no store in {location}")).with_hint("check the path"))
        }
        (Err(error), Some(_)) if error.kind() == io::ErrorKind::NotFound => {
            Err(Error::not_found(format!("there is no store {location}")).with_hint("check the path"))
        }
        (Err(error), Some(_)) => Err(unavailable("read", path, error)),
        (_, None) => Ok(None),
    }
}

/// Refuses a requested layout that differs from the recorded one.
pub(crate) fn check_layout(path: &Path, recorded: SplitLayout, requested: Option<SplitLayout>) -> Result<()> {
    match requested.filter(|requested| requested.split != recorded.split) {
        None => Ok(()),
        Some(requested) => {
            let message = format!("the store {} has {}, not {}", path.display(), recorded.split, requested.split);
            Err(Error::usage(message).with_hint("leave the option out: a store knows how it is split"))
        }
    }
}

/// The error for a catalogue outside of a split store, or for a store in one file in place of a catalogue.
pub(crate) fn misplaced_catalogue(file: &Path, in_folder: bool) -> Error {
    let (location, folder) = (file.display(), file.parent().unwrap_or(file).display());
    if in_folder {
        Error::new(ErrorKind::NotAStore, format!("{location} is a store in one file, not a split store's catalogue"))
            .with_hint(format!("open {location} itself"))
    } else {
        Error::new(ErrorKind::NotAStore, format!("{location} is the catalogue of a split store, not a store"))
            .with_hint(format!("open the directory {folder}"))
    }
}
