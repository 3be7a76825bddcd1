//! Backups of an open store in a directory or a bucket, and restoring them into one.

use crate::database::Database;
use atsdb_archive::{Archive, BackupReport, Manifest, Which};
use atsdb_core::Result;
use atsdb_engine::{CopyOptions, CopyReport, Selection, Watcher};
use std::fmt;

/// How a backup is made.
#[derive(Clone, Default)]
pub struct BackupOptions {
    /// What is backed up.
    pub selection: Selection,
    /// How many backups of this store stay, the new one among them; `None` is all.
    pub keep: Option<usize>,
    /// Whether everything that was written is read back and compared.
    pub verify: bool,
    /// Who is told how far it is.
    pub watcher: Option<Watcher>,
}

impl fmt::Debug for BackupOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { selection, keep, verify, .. } = self;
        let mut shown = f.debug_struct("BackupOptions");
        shown.field("selection", selection).field("keep", keep).field("verify", verify).finish_non_exhaustive()
    }
}

impl Database {
    /// Backs the store up, as it is now, to a directory or to `s3://BUCKET/PREFIX`. Writers go on meanwhile. Only chunks
    /// that the archive lacks are written; interrupted, what was written is used by the next backup.
    ///
    /// ```
    /// # fn main() -> atsdb::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let archive = folder.path().join("backups");
    /// # let archive = archive.to_str().unwrap();
    /// let db = atsdb::open("memory:")?;
    /// let backup = db.backup(archive, &atsdb::BackupOptions { keep: Some(7), ..Default::default() })?;
    ///
    /// let restored = atsdb::open("memory:")?;
    /// let (manifest, _) = restored.restore(archive, &atsdb::Which::Latest, &atsdb::CopyOptions::default())?;
    /// assert_eq!(manifest.id, backup.id);
    /// # Ok(())
    /// # }
    /// ```
    pub fn backup(&self, archive: &str, options: &BackupOptions) -> Result<BackupReport> {
        let archive = Archive::open(archive)?;
        archive.write(&self.engine().cut(&options.selection)?, options.verify, options.keep, options.watcher.as_ref())
    }

    /// Puts what a backup holds into this store, which must be empty or hold unchanged copies of the same source, unless
    /// the options allow more. Every page is checked; all of it becomes visible at once.
    pub fn restore(&self, archive: &str, which: &Which, options: &CopyOptions) -> Result<(Manifest, CopyReport)> {
        let archive = Archive::open(archive)?;
        let manifest = archive.backup(which)?;
        let report = self.engine().copy_from(&archive.cut(&manifest, &options.selection)?, options)?;
        Ok((manifest, report))
    }
}
