//! The store itself: who may do what, and which module does it.

use crate::connection::open;
use crate::error::{Attempt, Failure};
use crate::readers::Readers;
use crate::reserve::Reserve;
use crate::snapshot::SqliteSnapshot;
use crate::split::{self, Folder, Layout, PageFiles, Placed, folder};
use crate::writer::{Sync, WriteTransaction, Writer};
use crate::{chunk_write, commit, lease, mapping, reclaim, size, stage, table, verify};
use atsdb_core::store::{Finding, Reclaimed, StoreSize};
use atsdb_core::{
    Change, ChunkId, ColumnId, Durability, Error, ErrorKind, NewChunk, Outcome, Result, Snapshot, StageId, Store,
    Table, TableDefinition, TableId,
};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// Whether a file that does not exist, or is empty, becomes a store.
    pub create: bool,
    /// Whether writing is refused.
    pub read_only: bool,
    /// How long a writer waits for other writers before it gives up with `Busy`.
    pub busy_timeout: Duration,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        let busy_timeout = Duration::from_secs(60);
        Self { durability: Durability::Full, create: true, read_only: false, busy_timeout }
    }
}

/// A store in one SQLite file, or split over many.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    url: String,
    uid: [u8; 16],
    durability: Durability,
    writer: Option<Mutex<Writer>>,
    readers: Arc<Readers>,
    busy_timeout: Duration,
    /// Of a split store.
    files: Option<Arc<PageFiles>>,
}

impl SqliteStore {
    /// Opens the store of a file, and creates it if the options say so. A folder with a split store is recognised.
    ///
    /// A file that cannot be written, or lies where no lock files can be made, is opened for reading. Errors:
    /// `NotFound` (no such file or directory), `NotAStore` (something else is there), `NewerFormat`, `Corrupt`,
    /// `Busy`, `Unavailable` (no permission, disk full).
    pub fn open(path: &Path, options: &SqliteOptions) -> Result<Self> {
        Self::open_with(path, options, None)
    }

    /// Opens a split store, or makes one of this layout in a folder that does not exist yet, or is empty. A store that is
    /// split otherwise is refused (`Usage`), a file and a folder with other things too (`NotAStore`).
    pub fn open_split(path: &Path, options: &SqliteOptions, layout: Layout) -> Result<Self> {
        Self::open_with(path, options, Some(layout))
    }

    fn open_with(path: &Path, options: &SqliteOptions, layout: Option<Layout>) -> Result<Self> {
        // An absolute path is never one of the names that mean something to SQLite, and stays right when the
        // program changes its directory.
        let path = std::path::absolute(path)
            .map_err(|error| Error::usage(format!("cannot read the path {path:?}: {error}")).with_source(error))?;
        let folder = folder(&path, layout, options)?;
        // Without a layout nothing is made in a folder.
        let create = options.create && (folder.is_none() || layout.is_some());
        let file = folder.as_ref().map_or_else(|| path.clone(), Folder::catalogue);
        let opened = open(&file, &SqliteOptions { create, ..options.clone() }, layout)?;
        let files = match (folder, opened.layout) {
            (Some(folder), Some(recorded)) => {
                split::agree(&path, recorded, layout)?;
                if opened.access.writes() {
                    folder.create_pages(options.durability != Durability::Off)?;
                }
                Some(Arc::new(PageFiles::new(&folder, opened.uid, recorded, options.durability)))
            }
            (None, None) => {
                // SQLite does so for its log with the first commit, but says nothing where files have run out.
                if opened.access.writes() && options.durability != Durability::Off {
                    path.parent().map_or(Ok(()), split::sync_names)?;
                }
                None
            }
            (folder, _) => return Err(split::misplaced(&file, folder.is_some())),
        };
        let readers = Arc::new(Readers::new(&file, opened.access, options.busy_timeout));
        let reserve = Reserve::new(&file, files.as_ref().map(|files| files.folder().to_owned()));
        let writer = opened.access.writes().then(|| {
            let (durability, busy_timeout) = (options.durability, options.busy_timeout);
            Mutex::new(Writer::new(opened.connection, &file, opened.access, reserve, durability, busy_timeout))
        });
        let url = match &files {
            None => format!("sqlite:{}", path.display()),
            Some(files) => format!("sqlite:{}?{}", path.display(), files.layout.split),
        };
        let (durability, busy_timeout) = (options.durability, options.busy_timeout);
        Ok(Self { url, path, uid: opened.uid, durability, writer, readers, busy_timeout, files })
    }

    /// Whether writing is refused: because it was asked for, or because the file cannot be written.
    pub fn is_read_only(&self) -> bool {
        self.writer.is_none()
    }

    /// The file or folder, for messages.
    pub(crate) fn place(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    pub(crate) fn busy_timeout(&self) -> Duration {
        self.busy_timeout
    }

    /// The error for the caller.
    pub(crate) fn error(&self, failure: Failure) -> Error {
        failure.at(&self.path)
    }

    /// Works with the connection that writes; nobody else of this process does meanwhile.
    pub(crate) fn try_write<T>(&self, work: impl FnOnce(&mut Writer) -> Attempt<T>) -> Attempt<T> {
        let writer = self.writer.as_ref().ok_or_else(|| {
            Error::new(ErrorKind::ReadOnly, format!("the store {} is open for reading only", self.path.display()))
                .with_hint("open it without read_only, with permission to write the file and its directory")
        })?;
        // A panic while it was held left no transaction: it is rolled back when unwinding.
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.renew()?;
        let done = work(&mut writer);
        if let Err(failure) = &done {
            writer.note_failure(failure);
        }
        done
    }

    /// The same for work that makes room, or that such work needs: on a full disk it may use the reserve.
    pub(crate) fn try_free<T>(&self, work: impl FnMut(&mut Writer) -> Attempt<T>) -> Attempt<T> {
        self.try_write(|writer| writer.free(work))
    }

    /// Commits the changes. Of those that make room all may use the reserve.
    pub(crate) fn try_commit(
        &self,
        changes: &[Change],
        placed: &[Placed],
        now_ms: i64,
    ) -> Attempt<Vec<Result<Outcome>>> {
        if changes.iter().all(makes_room) {
            self.try_free(|writer| commit::commit(writer, changes, placed, now_ms))
        } else {
            self.try_write(|writer| commit::commit(writer, changes, placed, now_ms))
        }
    }

    /// Works with what is visible now.
    pub(crate) fn try_read<T>(&self, work: impl FnOnce(&Connection) -> Attempt<T>) -> Attempt<T> {
        let connection = self.readers.take()?;
        let done = work(&connection);
        self.readers.give_back(connection, done.as_ref().is_err_and(Failure::is_of_disk));
        done
    }

    fn write<T>(&self, work: impl FnOnce(&mut Writer) -> Attempt<T>) -> Result<T> {
        self.try_write(work).map_err(|failure| self.error(failure))
    }

    /// A transaction that makes room, or that such work needs.
    fn free<T>(&self, sync: Sync, work: impl Fn(&WriteTransaction<'_>) -> Attempt<T>) -> Result<T> {
        self.try_free(|writer| writer.transaction(sync, &work)).map_err(|failure| self.error(failure))
    }

    fn transaction<T>(&self, sync: Sync, work: impl FnOnce(&WriteTransaction<'_>) -> Attempt<T>) -> Result<T> {
        self.write(|writer| writer.transaction(sync, work))
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> Attempt<T>) -> Result<T> {
        self.try_read(work).map_err(|failure| self.error(failure))
    }

    fn open_snapshot(&self, stage: Option<StageId>) -> Result<Box<dyn Snapshot>> {
        let connection = self.readers.take().map_err(|error| self.error(error.into()))?;
        Ok(Box::new(SqliteSnapshot::new(connection, Arc::clone(&self.readers), self.files.clone(), stage)?))
    }

    /// The page files that a write may go to, of a store that is open for writing.
    fn files_to_write(&self) -> Option<&PageFiles> {
        self.files.as_deref().filter(|_| self.writer.is_some())
    }
}

impl Store for SqliteStore {
    fn url(&self) -> &str {
        &self.url
    }

    fn uid(&self) -> [u8; 16] {
        self.uid
    }

    fn durability(&self) -> Durability {
        self.durability
    }

    fn create_table(&self, definition: &TableDefinition, stage: Option<StageId>) -> Result<Table> {
        definition.check()?;
        // A staged table need not outlast a crash before its stage is committed.
        let sync = if stage.is_some() { Sync::Later } else { Sync::Now };
        self.transaction(sync, |connection| table::create(connection, definition, stage))
    }

    fn drop_table(&self, table: TableId) -> Result<()> {
        self.free(Sync::Now, |connection| table::drop(connection, table))
    }

    fn map_values(&self, table: TableId, column: ColumnId, capacity: u64, values: &[&[u8]]) -> Result<Vec<u32>> {
        self.write(|writer| mapping::map_values(writer, table, column, capacity, values))
    }

    fn open_stage(&self, now_ms: i64) -> Result<StageId> {
        self.transaction(Sync::Later, |connection| stage::open(connection, now_ms))
    }

    fn stage(&self, stage: StageId, chunks: Vec<NewChunk>, now_ms: i64) -> Result<()> {
        chunks.iter().try_for_each(chunk_write::check)?;
        if let Some(files) = self.files_to_write() {
            return split::stage(self, files, stage, &chunks, now_ms);
        }
        let placed = Placed::default();
        self.transaction(Sync::Later, |connection| stage::write(connection, stage, &chunks, &placed, now_ms))
    }

    fn stages(&self) -> Result<Vec<StageId>> {
        self.read(stage::list)
    }

    fn stage_snapshot(&self, stage: StageId) -> Result<Box<dyn Snapshot>> {
        self.open_snapshot(Some(stage))
    }

    fn unstage(&self, stage: StageId, chunks: &[ChunkId]) -> Result<()> {
        self.transaction(Sync::Later, |connection| stage::take_chunks(connection, stage, chunks))
    }

    fn unstage_table(&self, stage: StageId, table: TableId) -> Result<()> {
        self.transaction(Sync::Later, |connection| stage::take_table(connection, stage, table))
    }

    fn abandon_stage(&self, stage: StageId) -> Result<()> {
        self.free(Sync::Later, |connection| stage::abandon(connection, stage))
    }

    fn commit(&self, changes: &[Change], now_ms: i64) -> Result<Vec<Result<Outcome>>> {
        match self.files_to_write() {
            Some(files) => split::commit(self, files, changes, now_ms),
            None => self.try_commit(changes, &[], now_ms).map_err(|failure| self.error(failure)),
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>> {
        self.open_snapshot(None)
    }

    fn acquire_lease(&self, name: &str, holder: &str, now_ms: i64, ttl_ms: i64) -> Result<bool> {
        // Retention and reclaiming begin with it.
        let done = self.try_free(|writer| lease::acquire(writer, name, holder, now_ms, ttl_ms));
        done.map_err(|failure| self.error(failure))
    }

    fn release_lease(&self, name: &str, holder: &str) -> Result<()> {
        self.free(Sync::Later, |connection| lease::release(connection, name, holder))
    }

    fn reclaim(&self, byte_budget: u64, now_ms: i64) -> Result<Reclaimed> {
        // First the catalogue: what a stage held that is given up there, the files may then give back.
        let of_catalogue = self.write(|writer| reclaim::reclaim_in_room(writer, byte_budget, now_ms))?;
        let of_files = match self.files_to_write() {
            Some(files) => split::reclaim(self, files, byte_budget, now_ms)?,
            None => Reclaimed::default(),
        };
        let byte_count = of_files.byte_count + of_catalogue.byte_count;
        let more = of_files.more || of_catalogue.more;
        if !more {
            self.write(|writer| {
                writer.fill_reserve();
                Ok(())
            })?;
        }
        Ok(Reclaimed { byte_count, more })
    }

    fn size(&self) -> Result<StoreSize> {
        self.read(|connection| size::size(connection, self.files.is_some()))
    }

    fn verify(&self) -> Result<Vec<Finding>> {
        let listed = self.files.as_ref().map(|files| files.list()).transpose()?;
        self.read(|connection| {
            let mut findings = verify::verify(connection, &self.path);
            if let (Some(files), Some(listed)) = (&self.files, &listed)
                && !Finding::is_cut_short(&findings)
            {
                findings.extend(split::verify(connection, files, listed));
            }
            Ok(findings)
        })
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        if let Some(writer) = &self.writer {
            let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.fill_reserve();
            writer.settle();
            if let Some(files) = &self.files {
                files.settle();
            }
        }
    }
}

/// Whether a change takes more away than it adds: rows go, and at most a note of that comes.
fn makes_room(change: &Change) -> bool {
    const NOTE_BYTES_MAX: u64 = 64 << 10;
    let added = change.add.iter().map(|chunk| chunk.descriptor.byte_count()).sum::<u64>();
    let removes = !change.remove.is_empty() || !change.drop.is_empty();
    removes && change.stage.is_none() && change.amend.is_empty() && added <= NOTE_BYTES_MAX
}
