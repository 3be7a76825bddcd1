//! The store itself: permissions, and calls to the modules.

use crate::catalogue::Catalogue;
use crate::connection::open;
use crate::drop_table::drop_table;
use crate::error::Failure;
use crate::open_files::OpenFiles;
use crate::options::SqliteOptions;
use crate::readers::Readers;
use crate::reclaim::Extent;
use crate::reserve::Reserve;
use crate::snapshot::SqliteSnapshot;
use crate::split::files::PageFiles;
use crate::split::folder::{self, Folder};
use crate::split::layout::SplitLayout;
use crate::split::placed_pages::PlacedPages;
use crate::split::{self, page_writer};
use crate::writer::{SyncMode, Writer};
use crate::{counter, lease, mapping, reclaim, size, stage, table, verify};
use atsdb_core::store::{Finding, Reclaimed, StoreSize};
use atsdb_core::{
    Change, ChunkId, ColumnId, CommitOutcome, Durability, Error, NewChunk, NumberBlock, NumberRequest, Result,
    Snapshot, StageId, Store, Table, TableDefinition, TableId,
};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;

/// A store in one SQLite file, or split over many.
#[derive(Debug)]
pub struct SqliteStore {
    url: String,
    uid: [u8; 16],
    durability: Durability,
    catalogue: Catalogue,
    /// The page files of a split store.
    files: Option<Arc<PageFiles>>,
}

impl SqliteStore {
    /// Opens the store in a file, and creates it if the options allow it. A folder with a split store is recognised.
    ///
    /// A file that cannot be written, or is located where no lock files can be created, is opened for reading. Errors:
    /// `NotFound` (no such file or directory), `NotAStore` (the path contains something else), `NewerFormat`,
    /// `Corrupt`, `Busy`, `Unavailable` (no permission, disk full).
    pub fn open(path: &Path, options: &SqliteOptions) -> Result<Self> {
        Self::open_with(path, options, None)
    }

    /// Opens a split store, or creates one with this layout in a folder that is empty or does not exist yet. A store
    /// with another layout is refused (`Usage`), as are a file and a folder with other contents (`NotAStore`).
    pub fn open_split(path: &Path, options: &SqliteOptions, layout: SplitLayout) -> Result<Self> {
        Self::open_with(path, options, Some(layout))
    }

    fn open_with(path: &Path, options: &SqliteOptions, layout: Option<SplitLayout>) -> Result<Self> {
        // An absolute path is never one of the names that are special to SQLite, and stays valid when the program
        // changes its directory.
        let path = std::path::absolute(path)
            .map_err(|error| Error::usage(format!("cannot read the path {path:?}: {error}")).with_source(error))?;
        let folder = folder::find_or_create(&path, layout, options)?;
        // Without a layout nothing is created in a folder.
        let create = options.create && (folder.is_none() || layout.is_some());
        let file = folder.as_ref().map_or_else(|| path.clone(), Folder::catalogue);
        let opened = open(&file, &SqliteOptions { create, ..options.clone() }, layout)?;
        let files = match (folder, opened.facts.layout) {
            (Some(folder), Some(recorded)) => {
                folder::check_layout(&path, recorded, layout)?;
                if opened.access.writes() {
                    folder.create_pages(options.durability != Durability::Off)?;
                }
                Some(Arc::new(PageFiles::new(&folder, opened.facts.uid, recorded, options.durability)))
            }
            (None, None) => {
                // SQLite does so for its log with the first commit, but reports nothing if file handles have run out.
                if opened.access.writes() && options.durability != Durability::Off {
                    path.parent().map_or(Ok(()), folder::sync_directory)?;
                }
                None
            }
            (folder, _) => return Err(folder::misplaced_catalogue(&file, folder.is_some())),
        };
        let (access, has_row_pages) = (opened.access, opened.facts.has_row_pages);
        let open_files = OpenFiles::new(&file, access)?;
        let readers = Readers::new(&file, open_files.clone(), access, has_row_pages, options.busy_timeout);
        let readers = Arc::new(readers);
        let reserve = Reserve::new(&file, files.as_ref().map(|files| files.folder().to_owned()));
        let writer = match access.writes() {
            true => {
                let (durability, busy_timeout) = (options.durability, options.busy_timeout);
                let connection = opened.connection;
                let writer = Writer::new(connection, &file, access, open_files, reserve, durability, busy_timeout);
                let writer = writer.map(|writer| writer.with_row_pages(has_row_pages));
                Some(Mutex::new(writer.map_err(|error| Failure::Sqlite(error).into_error(&file))?))
            }
            false => None,
        };
        let url = match &files {
            None => format!("sqlite:{}", path.display()),
            Some(files) => format!("sqlite:{}?{}", path.display(), files.layout.split),
        };
        let (read_only, busy_timeout) = (options.read_only, options.busy_timeout);
        let catalogue = Catalogue { path, writer, read_only, readers, busy_timeout };
        Ok(Self { url, uid: opened.facts.uid, durability: options.durability, catalogue, files })
    }

    /// Returns whether writing is refused, because of the options or because the file cannot be written.
    pub fn is_read_only(&self) -> bool {
        !self.catalogue.can_write()
    }

    fn open_snapshot(&self, stage: Option<StageId>) -> Result<Box<dyn Snapshot>> {
        let readers = &self.catalogue.readers;
        let connection = readers.take().map_err(|failure| self.catalogue.error(failure))?;
        Ok(Box::new(SqliteSnapshot::new(connection, Arc::clone(readers), self.files.clone(), stage)?))
    }

    fn reclaim_space(&self, extent: Extent, byte_budget: u64, now_ms: i64) -> Result<Reclaimed> {
        // The catalogue comes first: the files can then free what its discarded stages used.
        let of_catalogue = self.catalogue.write(|writer| reclaim::reclaim_step(writer, extent, byte_budget, now_ms))?;
        let of_files = match self.files_to_write() {
            Some(files) => split::reclaim::reclaim(&self.catalogue, files, byte_budget, now_ms)?,
            None => Reclaimed::default(),
        };
        let byte_count = of_files.byte_count + of_catalogue.byte_count;
        let more = of_files.more || of_catalogue.more;
        if !more {
            self.catalogue.write(|writer| {
                writer.fill_reserve();
                Ok(())
            })?;
        }
        Ok(Reclaimed { byte_count, more })
    }

    /// Returns the page files to write to, if the store is open for writing.
    fn files_to_write(&self) -> Option<&PageFiles> {
        self.files.as_deref().filter(|_| self.catalogue.can_write())
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
        // A staged table need not survive a crash before its stage is committed.
        let sync = if stage.is_some() { SyncMode::Deferred } else { SyncMode::Immediate };
        self.catalogue.transaction(sync, |connection| {
            stage.map_or(Ok(()), |stage| stage::require(connection, stage))?;
            table::create(connection, definition, stage)
        })
    }

    fn drop_table(&self, table: TableId) -> Result<()> {
        self.catalogue.free(SyncMode::Immediate, |connection| drop_table(connection, table))
    }

    fn map_values(&self, table: TableId, column: ColumnId, capacity: u64, values: &[&[u8]]) -> Result<Vec<u32>> {
        self.catalogue.write(|writer| mapping::map_values(writer, table, column, capacity, values))
    }

    fn reserve_numbers(&self, request: &NumberRequest) -> Result<NumberBlock> {
        // The log preserves the order: a commit that uses a number also makes its reservation durable.
        self.catalogue.transaction(SyncMode::Deferred, |connection| counter::reserve(connection, request))
    }

    fn open_stage(&self, now_ms: i64) -> Result<StageId> {
        self.catalogue.transaction(SyncMode::Deferred, |connection| stage::open(connection, now_ms))
    }

    fn stage(&self, stage: StageId, chunks: Vec<NewChunk>, now_ms: i64) -> Result<()> {
        chunks.iter().try_for_each(NewChunk::check)?;
        if let Some(files) = self.files_to_write() {
            return page_writer::stage(&self.catalogue, files, stage, &chunks, now_ms);
        }
        let placed = PlacedPages::default();
        self.catalogue
            .transaction(SyncMode::Deferred, |connection| stage::write(connection, stage, &chunks, &placed, now_ms))
    }

    fn stages(&self) -> Result<Vec<StageId>> {
        self.catalogue.read(stage::list)
    }

    fn stage_snapshot(&self, stage: StageId) -> Result<Box<dyn Snapshot>> {
        self.open_snapshot(Some(stage))
    }

    fn unstage(&self, stage: StageId, chunks: &[ChunkId]) -> Result<()> {
        self.catalogue.transaction(SyncMode::Deferred, |connection| stage::remove_chunks(connection, stage, chunks))
    }

    fn unstage_table(&self, stage: StageId, table: TableId) -> Result<()> {
        self.catalogue.transaction(SyncMode::Deferred, |connection| stage::remove_table(connection, stage, table))
    }

    fn abandon_stage(&self, stage: StageId) -> Result<()> {
        self.catalogue.free(SyncMode::Deferred, |connection| stage::abandon(connection, stage))
    }

    fn commit(&self, changes: &[Change], now_ms: i64) -> Result<Vec<Result<CommitOutcome>>> {
        match self.files_to_write() {
            Some(files) => page_writer::commit(&self.catalogue, files, changes, now_ms),
            None => self.catalogue.try_commit(changes, &[], now_ms).map_err(|failure| self.catalogue.error(failure)),
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>> {
        self.open_snapshot(None)
    }

    fn is_at_hand(&self) -> bool {
        true
    }

    fn acquire_lease(&self, name: &str, holder: &str, now_ms: i64, ttl_ms: i64) -> Result<bool> {
        // Retention and reclaiming start with a lease, also on a full disk.
        let done = self.catalogue.try_write_on_full_disk(|writer| lease::acquire(writer, name, holder, now_ms, ttl_ms));
        done.map_err(|failure| self.catalogue.error(failure))
    }

    fn release_lease(&self, name: &str, holder: &str) -> Result<()> {
        self.catalogue.free(SyncMode::Deferred, |connection| lease::release(connection, name, holder))
    }

    fn reclaim(&self, byte_budget: u64, now_ms: i64) -> Result<Reclaimed> {
        self.reclaim_space(Extent::All, byte_budget, now_ms)
    }

    fn reclaim_beside_writers(&self, byte_budget: u64, now_ms: i64) -> Result<Reclaimed> {
        self.reclaim_space(Extent::AllButSpare, byte_budget, now_ms)
    }

    fn check_location(&self) -> Result<()> {
        self.catalogue.readers.files().check()
    }

    fn size(&self) -> Result<StoreSize> {
        self.catalogue.read(|connection| size::size(connection, self.files.is_some()))
    }

    fn verify(&self) -> Result<Vec<Finding>> {
        let listed = self.files.as_ref().map(|files| files.list()).transpose()?;
        self.catalogue.read(|connection| {
            let mut findings = verify::verify(connection, &self.catalogue.path, self.catalogue.readers.has_row_pages());
            if let (Some(files), Some(listed)) = (&self.files, &listed)
                && !Finding::is_incomplete(&findings)
            {
                findings.extend(split::verify::verify(connection, files, listed));
            }
            Ok(findings)
        })
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        if let Some(writer) = &self.catalogue.writer {
            let mut writer = writer.lock();
            // Another store's files must not be touched.
            if writer.files().check().is_err() {
                return;
            }
            writer.fill_reserve();
            writer.repair_before_close();
            if let Some(files) = &self.files {
                files.repair_before_close();
            }
        }
    }
}
