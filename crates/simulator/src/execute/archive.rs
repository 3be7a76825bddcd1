//! The targets of copies and backups: separate stores, and one archive for all processes of a world.

use crate::compare::{SeenDatabase, observe};
use crate::setting::Language;
use crate::sql;
use crate::stores::temporary_folder;
use crate::subject::WhichBackup;
use atsdb_archive::{Archive, BackupSelector};
use atsdb_core::Result;
use atsdb_engine::{CopyOptions, Engine, Selection};
use parking_lot::Mutex;
use tempfile::TempDir;

/// Creates an empty store.
pub(crate) type MakeStore = Box<dyn Fn() -> Result<Engine> + Send + Sync>;

/// The stores and archive outside of the world's store.
pub(crate) struct OutsideStores {
    make: MakeStore,
    copies: Engine,
    restored: Mutex<Option<Engine>>,
    archive: Mutex<Option<TempDir>>,
}

impl OutsideStores {
    /// Creates an archive without backups. `make` creates the stores for copies and restored backups.
    pub(crate) fn new(make: MakeStore) -> Result<Self> {
        let copies = make()?;
        Ok(Self { make, copies, restored: Mutex::default(), archive: Mutex::default() })
    }

    /// The target of copies.
    pub(crate) fn copies(&self) -> Engine {
        self.copies.clone()
    }

    /// Backs a store up. With `keep`, old backups are deleted.
    pub(crate) fn back_up(&self, engine: &Engine, keep: Option<usize>) -> Result<()> {
        let archive = self.archive()?;
        archive.write(&engine.cut(&Selection::default())?, true, keep, None).map(drop)
    }

    /// Restores a backup and returns its contents.
    pub(crate) fn restore(
        &self,
        now_ms: i64,
        which: WhichBackup,
        afresh: bool,
        language: Language,
    ) -> Result<SeenDatabase> {
        let which = match which {
            WhichBackup::Newest => BackupSelector::Latest,
            WhichBackup::HoursAgo(_) => BackupSelector::At(which.until_ms(now_ms)),
        };
        let archive = self.archive()?;
        let backup = archive.backup(&which)?;
        let mut restored = self.restored.lock();
        let target = match restored.take().filter(|_| !afresh) {
            Some(target) => target,
            None => (self.make)()?,
        };
        let options = CopyOptions { overwrite: true, allow_non_empty: true, verify: true, ..CopyOptions::default() };
        target.copy_from(&archive.cut(&backup, &Selection::default())?, &options)?;
        observe_all(restored.insert(target), language)
    }

    fn archive(&self) -> Result<Archive> {
        let mut folder = self.archive.lock();
        let folder = match folder.take() {
            Some(there) => folder.insert(there),
            None => folder.insert(temporary_folder()?),
        };
        Archive::open(&format!("dir:{}", folder.path().display()))
    }
}

/// Everything in a store. Rollups are queried if sessions use SQL.
pub(crate) fn observe_all(engine: &Engine, language: Language) -> Result<SeenDatabase> {
    let mut seen = observe(&engine.snapshot()?)?;
    if language == Language::Sql && !seen.rollups.is_empty() {
        let session = sql::session(engine)?;
        for (name, rollup) in &mut seen.rollups {
            rollup.rows = Some(sql::rows(&session, name)?.1);
        }
    }
    Ok(seen)
}
