//! Backup of an open store to a directory or bucket, and restore into an open store.

use crate::database::Database;
use atsdb_archive::{Archive, BackupReport, BackupSelector, Manifest};
use atsdb_core::Result;
use atsdb_engine::{CopyOptions, CopyReport, ProgressCallback, Selection};
use std::fmt;

/// The options of a backup.
#[derive(Clone, Default)]
pub struct BackupOptions {
    /// The tables and times to back up.
    pub selection: Selection,
    /// The number of backups of this store to keep, including the new one. `None` keeps all.
    pub keep: Option<usize>,
    /// Whether to read back and compare everything that was written.
    pub verify: bool,
    /// Called with the progress.
    pub on_progress: Option<ProgressCallback>,
}

impl fmt::Debug for BackupOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { selection, keep, verify, .. } = self;
        let mut shown = f.debug_struct("BackupOptions");
        shown.field("selection", selection).field("keep", keep).field("verify", verify).finish_non_exhaustive()
    }
}

impl Database {
    /// Backs up the present state of the store to a directory or to `s3://BUCKET/PREFIX`, while writers continue. Only
    /// chunks that the archive lacks are written. The next backup uses what an interrupted one has written.
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
    /// let (manifest, _) = restored.restore(archive, &atsdb::BackupSelector::Latest, &atsdb::CopyOptions::default())?;
    /// assert_eq!(manifest.id, backup.id);
    /// # Ok(())
    /// # }
    /// ```
    pub fn backup(&self, archive: &str, options: &BackupOptions) -> Result<BackupReport> {
        let archive = Archive::open(archive)?;
        archive.write(
            &self.engine().cut(&options.selection)?,
            options.verify,
            options.keep,
            options.on_progress.as_ref(),
        )
    }

    /// Restores a backup into this store. The store must be empty or hold unchanged copies of the same source, unless
    /// the options allow more. Every page is checked, and everything becomes visible at once.
    pub fn restore(
        &self,
        archive: &str,
        which: &BackupSelector,
        options: &CopyOptions,
    ) -> Result<(Manifest, CopyReport)> {
        let archive = Archive::open(archive)?;
        let manifest = archive.backup(which)?;
        let report = self.engine().copy_from(&archive.cut(&manifest, &options.selection)?, options)?;
        Ok((manifest, report))
    }
}
