//! Backups of a store in a directory or on S3-compatible object storage.
//!
//! An archive holds any number of backups of any number of stores. Chunks, lists and dictionaries are objects that never
//! change and are shared by all backups that need them; a backup is one more object, its manifest, which is written last:
//! a backup is there whole or not at all. What is written comes from a [`Cut`](atsdb_engine::Cut), and what is restored
//! becomes one again, so that backing up and restoring are copying. The format is in `docs/format/archive.md`.
//!
//! Each part has a file: [`manifest`] what a backup is, `object` the bytes of the other objects, `write` a backup's making,
//! `read` its reading, `rotate` what goes with old backups, `verify` what is damaged. `objects` is where they lie:
//! `folder` or `bucket`.

mod bucket;
mod folder;
pub mod manifest;
mod object;
mod objects;
mod parallel;
mod read;
mod rotate;
mod verify;
mod write;

pub use manifest::{Manifest, Which};
pub use verify::ArchiveReport;
pub use write::BackupReport;

use atsdb_core::{Error, ErrorKind, Result};
use objects::Objects;
use std::path::Path;
use std::sync::Arc;

/// What says that a folder is an archive.
const MARK: &str = "atsdb-archive";
/// What the mark holds.
const MARK_TEXT: &[u8] = b"backups of atsdb stores, format 1; see docs/format/archive.md\n";

/// A place with backups.
#[derive(Clone, Debug)]
pub struct Archive {
    objects: Arc<dyn Objects>,
}

/// What says that a folder is a split store.
const SPLIT_STORE: &str = "atsdb.db";

/// Whether a place can only be an archive: `s3://...`, `dir:...`, or a directory that is there and no split store.
pub fn is_archive(place: &str) -> bool {
    let path = Path::new(place);
    let is_folder = path.is_dir() && !path.join(SPLIT_STORE).exists();
    place.starts_with("s3://") || place.starts_with("dir:") || is_folder
}

impl Archive {
    /// The archive at a place: `s3://BUCKET/PREFIX`, with credentials from the usual environment (`AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`, ...), or a directory. Nothing is created yet.
    pub fn open(place: &str) -> Result<Self> {
        let objects: Arc<dyn Objects> = match place.strip_prefix("s3://") {
            Some(rest) => Arc::new(bucket::Bucket::open(rest)?),
            None => Arc::new(folder::Folder::open(Path::new(place.strip_prefix("dir:").unwrap_or(place)))?),
        };
        Ok(Self { objects })
    }

    /// Where it is, without secrets.
    pub fn place(&self) -> &str {
        self.objects.place()
    }

    /// Its backups, oldest first. A manifest that cannot be read is an error that names it.
    pub fn backups(&self) -> Result<Vec<Manifest>> {
        manifest::all(self.objects.as_ref())
    }

    /// The backup that is meant.
    pub fn backup(&self, which: &Which) -> Result<Manifest> {
        let mut backups = self.backups()?;
        let place = self.place();
        if backups.is_empty() {
            return Err(Error::not_found(format!("there is no backup in {place}")));
        }
        let oldest = backups[0].taken.clone();
        let found = match which {
            Which::Latest => backups.pop(),
            Which::Id(id) => backups.into_iter().find(|backup| backup.id == *id),
            Which::At(time_ms) => backups.into_iter().rfind(|backup| backup.taken_ms <= *time_ms),
        };
        found.ok_or_else(|| match which {
            Which::At(_) => Error::not_found(format!("{place} has no backup of that time or before"))
                .with_hint(format!("the oldest is of {oldest}")),
            _ => Error::not_found(format!("{place} has no backup of that id"))
                .with_hint("atsdb backup --list tells those that there are"),
        })
    }

    /// Makes sure that there is an archive, or nothing yet that could be mistaken for one.
    fn mark(&self) -> Result<()> {
        match self.objects.get(MARK) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => match self.objects.is_empty()? {
                true => self.objects.put(MARK, MARK_TEXT.to_vec()),
                false => {
                    Err(Error::new(ErrorKind::NotAStore, format!("{} is not empty, and no archive", self.place()))
                        .with_hint("name an empty directory or prefix"))
                }
            },
            Err(error) => Err(error),
        }
    }

    /// Refuses a place where no backup ever was.
    ///
    /// Errors: `NotFound`, and what reading there may say.
    pub fn require(&self) -> Result<()> {
        match self.objects.get(MARK) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(Error::not_found(format!("there is no backup in {}", self.place())))
            }
            Err(error) => Err(error),
        }
    }
}
