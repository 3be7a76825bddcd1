//! An archive: a directory or bucket that holds backups.

use crate::bucket::Bucket;
use crate::folder::Folder;
use crate::listing::{self, Backups, no_backup_in};
use crate::manifest::{self, BackupSelector, Manifest};
use crate::objects::Objects;
use atsdb_core::store::Finding;
use atsdb_core::{Error, ErrorKind, Result};

use std::path::Path;
use std::sync::Arc;

/// The object that marks a folder as an archive.
const MARK: &str = "atsdb-archive";
/// The content of the mark.
const MARK_TEXT: &[u8] = b"backups of atsdb stores, format 2; see docs/format/archive.md\n";

/// A directory or bucket that holds backups.
#[derive(Clone, Debug)]
pub struct Archive {
    pub(crate) objects: Arc<dyn Objects>,
}

/// The file that marks a folder as a split store.
const SPLIT_STORE: &str = "atsdb.db";

/// Returns whether a location can only be an archive: `s3://...`, `dir:...`, or an existing directory that is not a
/// split store.
pub fn is_archive(location: &str) -> bool {
    let path = Path::new(location);
    let is_folder = path.is_dir() && !path.join(SPLIT_STORE).exists();
    location.starts_with("s3://") || location.starts_with("dir:") || is_folder
}

impl Archive {
    /// Opens the archive at a location: `s3://BUCKET/PREFIX`, with credentials from the usual environment
    /// (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`, ...), or a directory. Nothing
    /// is created yet.
    pub fn open(location: &str) -> Result<Self> {
        let objects: Arc<dyn Objects> = match location.strip_prefix("s3://") {
            Some(rest) => Arc::new(Bucket::open(rest)?),
            None => Arc::new(Folder::open(Path::new(location.strip_prefix("dir:").unwrap_or(location)))?),
        };
        Ok(Self { objects })
    }

    /// Returns the location of the archive, without secrets.
    pub fn location(&self) -> &str {
        self.objects.location()
    }

    /// Returns the backups in the archive, in the order in which they were made. Damaged backups are listed as such.
    pub fn backups(&self) -> Result<Backups> {
        listing::read(self.objects.as_ref())
    }

    /// The selected backup ([`Backups::choose`]).
    pub fn backup(&self, which: &BackupSelector) -> Result<Manifest> {
        self.backups()?.choose(which).cloned()
    }

    /// Marks the location as an archive. It must be an archive already, or empty.
    pub(crate) fn mark(&self) -> Result<()> {
        match self.objects.get(MARK) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                match self.objects.is_empty()? || self.has_backups()? {
                    true => self.objects.put(MARK, MARK_TEXT.to_vec()),
                    false => Err(Error::new(
                        ErrorKind::NotAStore,
                        format!("{} is not empty and not an archive", self.location()),
                    )
                    .with_hint("use an empty directory or prefix")),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Refuses a location that has no backup.
    ///
    /// Errors: [`NotFound`](ErrorKind::NotFound) if there is none, and the errors of reading there.
    pub fn require(&self) -> Result<()> {
        match self.objects.get(MARK) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound && !self.has_backups()? => {
                Err(no_backup_in(self.location()))
            }
            Err(error) if [ErrorKind::NotFound, ErrorKind::Corrupt].contains(&error.kind()) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns whether the archive has manifests. Only their names are read.
    pub(crate) fn has_backups(&self) -> Result<bool> {
        let names = manifest::names(self.objects.as_ref())?;
        Ok(names.iter().any(|name| manifest::id_in(name).is_some_and(|id| manifest::NameParts::of_id(id).is_some())))
    }

    /// Checks the object that marks an archive. Only [`is_archive`] depends on it.
    pub(crate) fn check_mark(&self) -> Result<Option<Finding>> {
        let problem = match self.objects.get(MARK) {
            Ok(bytes) if bytes == MARK_TEXT => return Ok(None),
            Ok(_) => "does not contain the mark of an archive of this format".to_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => "is missing".to_owned(),
            Err(error) if error.kind() == ErrorKind::Corrupt => error.message().to_owned(),
            Err(error) => return Err(error),
        };
        Ok(Some(Finding::damage(MARK, problem)))
    }
}
