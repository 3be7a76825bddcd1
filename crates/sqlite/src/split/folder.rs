//! The folder of a split store: where its catalogue and its page files lie, and what else may stand at the path.

use crate::options::SqliteOptions;
use crate::split::layout::Layout;
use atsdb_core::{Error, ErrorKind, Result};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const CATALOGUE: &str = "atsdb.db";
const PAGES: &str = "pages";

/// A folder that is a split store, or is to become one.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
}

impl Folder {
    /// The SQLite file that decides what is visible.
    pub(crate) fn catalogue(&self) -> PathBuf {
        self.path.join(CATALOGUE)
    }

    /// Where the page files lie.
    pub(crate) fn pages(&self) -> PathBuf {
        self.path.join(PAGES)
    }

    /// Makes the folder. Several processes may do so at once.
    fn create(&self) -> Result<()> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        made.map_err(|error| unavailable("create the store", &self.path, error))
    }

    /// Makes the folder of the page files where it is not there yet. With `durable` the names of both folders are on disk
    /// then: of what is acknowledged, nothing hangs from a name that a power cut takes. Whoever made them may have ended
    /// before they were.
    pub(crate) fn create_pages(&self, durable: bool) -> Result<()> {
        let pages = self.pages();
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&pages);
        made.map_err(|error| unavailable("create", &pages, error))?;
        if durable {
            sync_names(&self.path)?;
            self.path.parent().map_or(Ok(()), sync_names)?;
        }
        Ok(())
    }

    /// Whether nothing lies in it but what making a store puts there.
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
pub(crate) fn sync_names(folder: &Path) -> Result<()> {
    match fs::File::open(folder).and_then(|folder| folder.sync_all()) {
        // One that may be entered and not be listed can only have been made by somebody else, before.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        other => other.map_err(|error| unavailable("make durable", folder, error)),
    }
}

/// The error for a folder or file that cannot be used.
pub(crate) fn unavailable(work: &str, path: &Path, error: io::Error) -> Error {
    let place = path.display();
    let unavailable = |message: String, hint: &str| Error::new(ErrorKind::Unavailable, message).with_hint(hint);
    let told = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            let message = format!("disk full at {place}: nothing of this call was stored");
            unavailable(message, "make room and try again; reading goes on")
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            let message = format!("cannot {work} {place}: {error}");
            unavailable(message, "check that you may read and write the folder and what is in it")
        }
        _ => unavailable(format!("cannot {work} {place}: {error}"), "check the disk and the system's log"),
    };
    told.with_source(error)
}

/// The folder, if the path is a split store's or is to become one; it is made where that is asked for. `None` for a store
/// in one file.
pub(crate) fn folder(path: &Path, layout: Option<Layout>, options: &SqliteOptions) -> Result<Option<Folder>> {
    let (place, folder) = (path.display(), Folder { path: path.to_owned() });
    let create = options.create && !options.read_only;
    match (fs::metadata(path), layout) {
        (Ok(metadata), _) if metadata.is_dir() && folder.catalogue().exists() => Ok(Some(folder)),
        (Ok(metadata), None) if metadata.is_dir() => {
            Err(Error::new(ErrorKind::NotAStore, format!("{place} is a directory, and no split store"))
                .with_hint("name a file in it, or add ?split=slice or ?shards=N to make a split store of an empty one"))
        }
        (Ok(metadata), Some(_)) if metadata.is_dir() && create => {
            if !folder.is_fresh()? {
                return Err(Error::new(ErrorKind::NotAStore, format!("the directory {place} holds something else"))
                    .with_hint("name an empty directory, or one that does not exist yet"));
            }
            folder.create()?;
            Ok(Some(folder))
        }
        (Ok(metadata), Some(layout)) if !metadata.is_dir() => {
            let message = format!("{place} is a file; a store with {} is a directory", layout.split);
            Err(Error::new(ErrorKind::NotAStore, message).with_hint("leave the option out, or name another path"))
        }
        (Err(error), Some(_)) if error.kind() == io::ErrorKind::NotFound && create => {
            let parent = path.parent().unwrap_or(Path::new("/"));
            if !parent.is_dir() {
                return Err(Error::not_found(format!("the directory {} does not exist", parent.display()))
                    .with_hint("create it first, or correct the path"));
            }
            folder.create()?;
            Ok(Some(folder))
        }
        (Ok(_), Some(_)) => Err(Error::not_found(format!("there is no store in {place}")).with_hint("check the path")),
        (Err(error), Some(_)) if error.kind() == io::ErrorKind::NotFound => {
            Err(Error::not_found(format!("there is no store {place}")).with_hint("check the path"))
        }
        (Err(error), Some(_)) => Err(unavailable("look at", path, error)),
        (_, None) => Ok(None),
    }
}

/// Refuses a layout that is not the recorded one.
pub(crate) fn agree(path: &Path, recorded: Layout, asked: Option<Layout>) -> Result<()> {
    match asked.filter(|asked| asked.split != recorded.split) {
        None => Ok(()),
        Some(asked) => {
            let message = format!("the store {} has {}, not {}", path.display(), recorded.split, asked.split);
            Err(Error::usage(message).with_hint("leave the option out: a store tells by itself how it is split"))
        }
    }
}

/// The error for a catalogue outside of a split store, or a store in one file where a catalogue should be.
pub(crate) fn misplaced(file: &Path, in_folder: bool) -> Error {
    let (place, folder) = (file.display(), file.parent().unwrap_or(file).display());
    if in_folder {
        Error::new(ErrorKind::NotAStore, format!("{place} is a store in one file, not a split store's catalogue"))
            .with_hint(format!("open {place} itself"))
    } else {
        Error::new(ErrorKind::NotAStore, format!("{place} is the catalogue of a split store, not a store"))
            .with_hint(format!("open the directory {folder}"))
    }
}
