//! A place with backups.

use crate::bucket::Bucket;
use crate::folder::Folder;
use crate::listing::{self, Backups};
use crate::manifest::{self, Manifest, Which};
use crate::objects::Objects;
use atsdb_core::store::Finding;
use atsdb_core::{Error, ErrorKind, Result};

use std::path::Path;
use std::sync::Arc;

/// The object that marks a folder as an archive.
const MARK: &str = "atsdb-archive";
/// The content of the mark.
const MARK_TEXT: &[u8] = b"backups of atsdb stores, format 2; see docs/format/archive.md\n";

/// A place with backups.
#[derive(Clone, Debug)]
pub struct Archive {
    pub(crate) objects: Arc<dyn Objects>,
}

/// The file that marks a folder as a split store.
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
            Some(rest) => Arc::new(Bucket::open(rest)?),
            None => Arc::new(Folder::open(Path::new(place.strip_prefix("dir:").unwrap_or(place)))?),
        };
        Ok(Self { objects })
    }

    /// Where it is, without secrets.
    pub fn place(&self) -> &str {
        self.objects.place()
    }

    /// Its backups, in the order in which they were made. One that is damaged is listed as damaged.
    pub fn backups(&self) -> Result<Backups> {
        listing::read(self.objects.as_ref())
    }

    /// The backup that is meant: [`Backups::choose`].
    pub fn backup(&self, which: &Which) -> Result<Manifest> {
        self.backups()?.choose(which).cloned()
    }

    /// Makes sure that there is an archive, or nothing yet that could be mistaken for one.
    pub(crate) fn mark(&self) -> Result<()> {
        match self.objects.get(MARK) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                match self.objects.is_empty()? || self.has_backups()? {
                    true => self.objects.put(MARK, MARK_TEXT.to_vec()),
                    false => {
                        Err(Error::new(ErrorKind::NotAStore, format!("{} is not empty, and no archive", self.place()))
                            .with_hint("name an empty directory or prefix"))
                    }
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Refuses a place where no backup ever was.
    ///
    /// Errors: `NotFound`, and what reading there may say.
    pub fn require(&self) -> Result<()> {
        match self.objects.get(MARK) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound && !self.has_backups()? => {
                Err(Error::not_found(format!("there is no backup in {}", self.place())))
            }
            Err(error) if [ErrorKind::NotFound, ErrorKind::Corrupt].contains(&error.kind()) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether the archive has manifests. Only their names are looked at.
    pub(crate) fn has_backups(&self) -> Result<bool> {
        let names = manifest::names(self.objects.as_ref())?;
        Ok(names.iter().any(|name| manifest::id_in(name).is_some_and(|id| manifest::NameParts::of_id(id).is_some())))
    }

    /// What is wrong with the mark. Nothing needs it but who asks whether this is an archive.
    pub(crate) fn check_mark(&self) -> Result<Option<Finding>> {
        let problem = match self.objects.get(MARK) {
            Ok(bytes) if bytes == MARK_TEXT => return Ok(None),
            Ok(_) => "is not what marks an archive of this format".to_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => "is missing".to_owned(),
            Err(error) if error.kind() == ErrorKind::Corrupt => error.message().to_owned(),
            Err(error) => return Err(error),
        };
        Ok(Some(Finding::damage(MARK, problem)))
    }
}
