//! Writing pages before the catalogue refers to them: the choice of files, and the clean-up when the commit is refused.

#![expect(clippy::disallowed_methods, reason = "how long a lock is waited for")]

use crate::catalogue::Catalogue;
use crate::error::{Attempt, Failure, primary_code};
use crate::split::fault;
use crate::split::file;
use crate::split::files::{Claim, LockedFile, PageFiles};
use crate::split::layout::SplitBy;
use crate::split::page_file_table::{FileUsage, file_usage, files_of};
use crate::split::page_location::PageLocation;
use crate::split::placed_pages::{AmendedBlock, PlacedPages};
use crate::stage as staging;
use crate::writer::SyncMode;
use atsdb_core::{
    Amendment, Change, ChunkId, ColumnId, CommitOutcome, Durability, Error, ErrorKind, NewChunk, Result, StageId,
};
use rusqlite::{OptionalExtension, ffi, params};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The maximum number of groups that one call writes to separate files. With more, all go into one file, and sealing
/// separates them. So neither the open files nor the waits for the disk grow with the slices of a batch.
const PLACEMENT_GROUPS_MAX: usize = 32;
/// The number of files of a group that are tried before another is created.
const FILES_TRIED_MAX: u32 = 16;
/// The maximum number of attempts at a commit while the chunks that it amends are relocated.
const ATTEMPTS_MAX: u32 = 100;
const WAIT: Duration = Duration::from_millis(1);
const WAIT_MAX: Duration = Duration::from_millis(16);

/// The chunks that share a file: those of a slice of a table, fresh or sealed; or, with table 0, those of a shard.
/// Fresh chunks are deleted soon. Separated from the sealed ones, their files can be removed as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PlacementGroup {
    pub(crate) table: i64,
    pub(crate) part: i64,
    pub(crate) sealed: bool,
}

impl PlacementGroup {
    pub(crate) fn of(files: &PageFiles, table: i64, slice_start: i64, sealed: bool) -> Self {
        match files.layout.split {
            SplitBy::Slice => Self { table, part: slice_start, sealed },
            SplitBy::Shards(_) => Self { table: 0, part: 0, sealed },
        }
    }

    fn of_chunk(files: &PageFiles, chunk: &NewChunk) -> Self {
        Self::of(files, chunk.table.0, chunk.descriptor.slice.start, chunk.descriptor.sealed)
    }

    /// Returns the group for chunks of many slices.
    fn mixed(self) -> Self {
        Self { table: 0, part: 0, ..self }
    }
}

/// The files that a call writes to, locked until its transaction is done.
pub(crate) struct PageWriter<'a> {
    store: &'a Catalogue,
    files: &'a PageFiles,
    locked: Vec<(PlacementGroup, LockedFile)>,
}

/// Writes the pages of the changes to page files, makes them durable, and only then applies the changes in the
/// catalogue.
pub(crate) fn commit(
    store: &Catalogue,
    files: &PageFiles,
    changes: &[Change],
    now_ms: i64,
) -> Result<Vec<Result<CommitOutcome>>> {
    for _ in 0..ATTEMPTS_MAX {
        let mut page_writer = PageWriter { store, files, locked: Vec::new() };
        let placed = page_writer.changes(changes).map_err(|failure| store.error(failure))?;
        page_writer.sync(changes).map_err(|failure| store.error(failure))?;
        fault::point("pages are durable");
        let done = store.try_commit(changes, &placed, now_ms);
        fault::point("catalogue is committed");
        match done {
            Ok(outcomes) => {
                let used = |(outcome, placed): (&Result<CommitOutcome>, &PlacedPages)| -> Vec<i64> {
                    let added = placed.add.iter().flatten().copied();
                    let amended_block = placed.amend.iter().flatten().filter_map(|amended_block| amended_block.payload);
                    let payloads =
                        added.chain(amended_block).filter(|_| matches!(outcome, Ok(CommitOutcome::Committed)));
                    payloads.filter_map(PageLocation::of).map(|location| location.file).collect()
                };
                page_writer.keep(&outcomes.iter().zip(&placed).flat_map(used).collect());
                return Ok(outcomes);
            }
            Err(Failure::Relocated) => {}
            Err(failure) => return Err(page_writer.failed(failure)),
        }
    }
    Err(Error::new(ErrorKind::Busy, "the chunks to amend were relocated too often").with_hint("retry"))
}

/// Writes the pages of chunks to page files, then the chunks to their stage. They are not made durable.
pub(crate) fn stage(
    store: &Catalogue,
    files: &PageFiles,
    stage: StageId,
    chunks: &[NewChunk],
    now_ms: i64,
) -> Result<()> {
    let mut page_writer = PageWriter { store, files, locked: Vec::new() };
    let mixed = page_writer.is_mixed(chunks.iter());
    let payloads = page_writer.chunks(chunks, mixed).map_err(|failure| store.error(failure))?;
    let placed = PlacedPages { add: payloads, amend: Vec::new() };
    fault::point("pages are staged");
    let done = store.try_write(|writer| {
        writer
            .transaction(SyncMode::Deferred, |transaction| staging::write(transaction, stage, chunks, &placed, now_ms))
    });
    match done {
        Ok(()) => {
            page_writer.locked.iter_mut().for_each(|(_, locked)| locked.keep());
            Ok(())
        }
        Err(failure) => Err(page_writer.failed(failure)),
    }
}

impl<'a> PageWriter<'a> {
    pub(crate) fn new(store: &'a Catalogue, files: &'a PageFiles) -> Self {
        Self { store, files, locked: Vec::new() }
    }

    /// Keeps the data appended to these files.
    pub(crate) fn keep(&mut self, used: &BTreeSet<i64>) {
        let used = self.locked.iter_mut().filter(|(_, locked)| used.contains(&locked.handle().number));
        used.for_each(|(_, locked)| locked.keep());
    }

    /// Cleans up after a failed transaction. If it was refused or never began, it is certainly not committed; otherwise
    /// a crash may still restore it from the log, so its pages must stay until reclaiming knows.
    pub(crate) fn failed(mut self, failure: Failure) -> Error {
        let undone = match &failure {
            Failure::Refused(_) | Failure::Relocated => true,
            Failure::Orphaned(_) => false,
            Failure::Sqlite(error) => primary_code(error) == Some(ffi::SQLITE_BUSY),
        };
        if !undone {
            self.locked.iter_mut().for_each(|(_, locked)| locked.keep());
        }
        self.store.error(failure)
    }

    fn is_small(&self, chunk: &NewChunk) -> bool {
        chunk.descriptor.byte_count() < self.files.layout.small_chunk_bytes
    }

    /// Returns whether the chunks belong to too many groups for separate files, and go into one file.
    fn is_mixed<'c>(&self, chunks: impl Iterator<Item = &'c NewChunk>) -> bool {
        let large = chunks.filter(|chunk| !self.is_small(chunk));
        let groups: BTreeSet<PlacementGroup> = large.map(|chunk| PlacementGroup::of_chunk(self.files, chunk)).collect();
        groups.len() > PLACEMENT_GROUPS_MAX
    }

    fn changes(&mut self, changes: &[Change]) -> Attempt<Vec<PlacedPages>> {
        let mixed = self.is_mixed(changes.iter().flat_map(|change| &change.add));
        // The next amendment of the same chunk starts with the result of the preceding one of this call.
        let mut amended_payloads: HashMap<(ChunkId, &[u8]), i64> = HashMap::new();
        let mut placed = Vec::with_capacity(changes.len());
        for change in changes {
            // A contradictory change is refused later.
            let whole = change.add.iter().try_for_each(NewChunk::check).is_ok();
            let add = if whole { self.chunks(&change.add, mixed)? } else { Vec::new() };
            let mut amend = Vec::with_capacity(change.amend.len());
            for amendment in &change.amend {
                let amended = match amendment.check() {
                    Ok(()) => self.append_amended_block(amendment, &amended_payloads)?,
                    Err(_) => None,
                };
                if let Some(payload) = amended.as_ref().and_then(|amended| amended.payload) {
                    amended_payloads.insert((amendment.chunk, &amendment.descriptor_bytes), payload);
                }
                amend.push(amended);
            }
            placed.push(PlacedPages { add, amend });
        }
        Ok(placed)
    }

    fn chunks(&mut self, chunks: &[NewChunk], mixed: bool) -> Attempt<Vec<Option<i64>>> {
        let mut payloads = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            if self.is_small(chunk) {
                payloads.push(None);
                continue;
            }
            let columns = chunk.descriptor.pages.iter().map(|page| page.column);
            let pages: Vec<(ColumnId, &[u8])> = columns.zip(chunk.pages.iter().map(Vec::as_slice)).collect();
            let group = PlacementGroup::of_chunk(self.files, chunk);
            let group = if mixed { group.mixed() } else { group };
            payloads.push(Some(self.append(group, &pages, &BTreeSet::new())?.payload()));
        }
        Ok(payloads)
    }

    /// Rewrites the pages of a chunk in a page file, together with those of the amendment.
    fn append_amended_block(
        &mut self,
        amendment: &Amendment,
        before: &HashMap<(ChunkId, &[u8]), i64>,
    ) -> Attempt<Option<AmendedBlock>> {
        let sql = "SELECT payload, slice_start, sealed FROM atsdb_chunk
                   WHERE id = ?1 AND table_id = ?2 AND stage IS NULL AND (descriptor = ?3 OR ?4)";
        let earlier = before.get(&(amendment.chunk, amendment.from.as_slice()));
        let found: Option<(i64, i64, bool)> = self.store.try_read(|connection| {
            let values = params![amendment.chunk.0, amendment.table.0, amendment.from, earlier.is_some()];
            let row =
                connection.prepare_cached(sql)?.query_row(values, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
            Ok(row.optional()?)
        })?;
        let Some((payload, slice_start, sealed)) = found else { return Ok(None) };
        let base = earlier.copied().unwrap_or(payload);
        let Some(location) = PageLocation::of(base) else { return Ok(None) };
        let unreadable = |error| self.files.failure(location.file, &format!("chunk {}", amendment.chunk.0), error);
        let file = self.files.reader(location.file).map_err(unreadable)?;
        let block = file::read_block(&file, location).map_err(unreadable)?;
        let had = block.read_all(&file).map_err(|error| unreadable(error.into()))?;
        let mut pages: Vec<(ColumnId, &[u8])> = had.iter().map(|(column, bytes)| (*column, bytes.as_slice())).collect();
        pages.extend(amendment.pages.iter().map(|(column, bytes)| (*column, bytes.as_slice())));
        let distinct: BTreeSet<ColumnId> = pages.iter().map(|(column, _)| *column).collect();
        if distinct.len() < pages.len() {
            return Ok(Some(AmendedBlock { base, payload: None }));
        }
        let group = PlacementGroup::of(self.files, amendment.table.0, slice_start, sealed);
        let payload = self.append(group, &pages, &BTreeSet::new())?.payload();
        Ok(Some(AmendedBlock { base, payload: Some(payload) }))
    }

    /// Appends a block to a file of the group that is not in `avoid`.
    pub(crate) fn append(
        &mut self,
        group: PlacementGroup,
        pages: &[(ColumnId, &[u8])],
        avoid: &BTreeSet<i64>,
    ) -> Attempt<PageLocation> {
        let found = self.locked.iter().position(|(other, locked)| *other == group && locked.has_room());
        let position = match found {
            Some(position) => position,
            None => {
                let locked = self.lock_file(group, avoid)?;
                self.locked.push((group, locked));
                self.locked.len() - 1
            }
        };
        let locked = &mut self.locked[position].1;
        locked.append(pages).map_err(|error| self.files.write_failure(locked.handle().number, error))
    }

    /// Locks an unlocked file or creates one. In a store with shards, whose number is limited, it waits for one.
    fn lock_file(&self, group: PlacementGroup, avoid: &BTreeSet<i64>) -> Attempt<LockedFile> {
        let SplitBy::Shards(count) = self.files.layout.split else {
            return match self.lock_existing(group, avoid)? {
                ExistingFile::Locked(locked) => Ok(locked),
                ExistingFile::Busy | ExistingFile::None => self.create(group),
            };
        };
        let (start, mut wait) = (Instant::now(), WAIT);
        loop {
            let first = self.files.shard.load(Ordering::Relaxed);
            for shard in (0..usize::from(count)).map(|step| (first + step) % usize::from(count)) {
                let group = PlacementGroup { part: shard as i64, ..group };
                let locked = match self.lock_existing(group, avoid)? {
                    ExistingFile::Locked(locked) => locked,
                    ExistingFile::None => self.create(group)?,
                    ExistingFile::Busy => continue,
                };
                self.files.shard.store(shard, Ordering::Relaxed);
                return Ok(locked);
            }
            if start.elapsed() > self.store.busy_timeout() {
                let message = format!("all shards of the store {} are held by other writers", self.store.location());
                return Err(Error::new(ErrorKind::Busy, message).with_hint("retry when they have finished").into());
            }
            std::thread::sleep(wait);
            wait = (wait * 2).min(WAIT_MAX);
        }
    }

    fn lock_existing(&self, group: PlacementGroup, avoid: &BTreeSet<i64>) -> Attempt<ExistingFile> {
        let sql = "SELECT id FROM atsdb_page_file WHERE table_id = ?1 AND part = ?2 AND sealed = ?3
                   ORDER BY id DESC LIMIT ?4";
        let numbers = self.store.try_read(|connection| {
            let values = params![group.table, group.part, group.sealed, FILES_TRIED_MAX];
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_map(values, |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?)
        })?;
        let mut busy = false;
        for number in numbers.into_iter().filter(|number| !avoid.contains(number)) {
            // This call has locked the file, and it is full.
            let own = self.locked.iter().any(|(_, locked)| locked.handle().number == number);
            if own {
                continue;
            }
            match self.claim(number)? {
                Claim::Locked(locked) => return Ok(ExistingFile::Locked(locked)),
                Claim::Busy => busy = true,
                Claim::Useless => {}
            }
        }
        Ok(if busy { ExistingFile::Busy } else { ExistingFile::None })
    }

    fn claim(&self, number: i64) -> Attempt<Claim> {
        let file_usage = || self.store.try_read(|connection| file_usage(connection, number));
        let opened = match self.files.writer(number, false) {
            // The file was registered and is not created yet; or it is lost, which `verify` reports.
            Err(error) if error.kind() == io::ErrorKind::NotFound => match file_usage()? {
                Some(FileUsage { chunks_end: 0, .. }) => self.files.writer(number, true),
                _ => return Ok(Claim::Useless),
            },
            other => other,
        };
        let handle = opened.map_err(|error| self.files.write_failure(number, error))?;
        self.files.claim(&handle, file_usage)
    }

    /// Creates a new file. Another writer that searches for one may lock it first.
    fn create(&self, group: PlacementGroup) -> Attempt<LockedFile> {
        loop {
            let number = self.store.try_write(|writer| {
                writer.transaction(SyncMode::Deferred, |transaction| {
                    let sql = "INSERT INTO atsdb_page_file (table_id, part, sealed) VALUES (?1, ?2, ?3)";
                    transaction.prepare_cached(sql)?.execute(params![group.table, group.part, group.sealed])?;
                    Ok(transaction.last_insert_rowid())
                })
            })?;
            if let Claim::Locked(locked) = self.claim(number)? {
                return Ok(locked);
            }
        }
    }

    /// Makes everything durable that the changes will make visible.
    fn sync(&self, changes: &[Change]) -> Attempt<()> {
        if self.files.durability == Durability::Off {
            return Ok(());
        }
        let mut staged = BTreeSet::new();
        for stage in changes.iter().filter_map(|change| change.stage) {
            staged.extend(self.store.try_read(|connection| files_of(connection, stage))?);
        }
        for (_, locked) in &self.locked {
            self.files.sync(locked.handle())?;
            staged.remove(&locked.handle().number);
        }
        let staged: Vec<i64> = staged.into_iter().collect();
        Ok(self.files.sync_all(&staged)?)
    }

    /// Makes the appended data durable.
    pub(crate) fn sync_locked(&self) -> Attempt<()> {
        self.sync(&[])
    }
}

enum ExistingFile {
    Locked(LockedFile),
    Busy,
    None,
}
