//! Writing pages before the catalogue refers to them: into which files, and what is left when the commit is refused.

#![expect(clippy::disallowed_methods, reason = "how long a lock is waited for")]

use crate::catalogue::Catalogue;
use crate::error::{Attempt, Failure, primary_code};
use crate::split::fault;
use crate::split::file;
use crate::split::files::{Claim, Held, PageFiles};
use crate::split::layout::Split;
use crate::split::listing::{Needed, files_of, needed};
use crate::split::place::Place;
use crate::split::placed::{Enlarged, Placed};
use crate::writer::Sync;
use crate::{amend, chunk_write, stage as staging};
use atsdb_core::{
    Amendment, Change, ChunkId, ColumnId, Durability, Error, ErrorKind, NewChunk, Outcome, Result, StageId,
};
use rusqlite::{OptionalExtension, ffi, params};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// To how many slices one call writes apart; if there are more, all go into one file, and sealing takes them apart. So
/// neither the open files nor the waits for the disk grow with the slices that a batch touches.
const GROUPS_MAX: usize = 32;
/// How many files of a group are tried before another is made.
const TRIED_MAX: u32 = 16;
/// How often a commit is done anew because the chunks that it amends were moved.
const ATTEMPTS_MAX: u32 = 100;
const WAIT: Duration = Duration::from_millis(1);
const WAIT_MAX: Duration = Duration::from_millis(16);

/// Which chunks lie in a file together: those of a slice of a table, fresh or sealed; or with table 0 those of a shard. What
/// is fresh goes soon; apart from what stays, its files go whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Group {
    pub(crate) table: i64,
    pub(crate) part: i64,
    pub(crate) sealed: bool,
}

impl Group {
    pub(crate) fn of(files: &PageFiles, table: i64, slice_start: i64, sealed: bool) -> Self {
        match files.layout.split {
            Split::Slice => Self { table, part: slice_start, sealed },
            Split::Shards(_) => Self { table: 0, part: 0, sealed },
        }
    }

    fn of_chunk(files: &PageFiles, chunk: &NewChunk) -> Self {
        Self::of(files, chunk.table.0, chunk.descriptor.slice.start, chunk.descriptor.sealed)
    }

    /// Of chunks of many slices.
    fn mixed(self) -> Self {
        Self { table: 0, part: 0, ..self }
    }
}

/// The files that a call writes to, held until its transaction is done.
pub(crate) struct Placing<'a> {
    store: &'a Catalogue,
    files: &'a PageFiles,
    held: Vec<(Group, Held)>,
}

/// Writes pages of the changes into page files, makes them durable, and only then does the changes in the catalogue.
pub(crate) fn commit(
    store: &Catalogue,
    files: &PageFiles,
    changes: &[Change],
    now_ms: i64,
) -> Result<Vec<Result<Outcome>>> {
    for _ in 0..ATTEMPTS_MAX {
        let mut placing = Placing { store, files, held: Vec::new() };
        let placed = placing.changes(changes).map_err(|failure| store.error(failure))?;
        placing.sync(changes).map_err(|failure| store.error(failure))?;
        fault::point("pages are durable");
        let done = store.try_commit(changes, &placed, now_ms);
        fault::point("catalogue is committed");
        match done {
            Ok(outcomes) => {
                let used = |(outcome, placed): (&Result<Outcome>, &Placed)| -> Vec<i64> {
                    let added = placed.add.iter().flatten().copied();
                    let enlarged = placed.amend.iter().flatten().filter_map(|enlarged| enlarged.payload);
                    let payloads = added.chain(enlarged).filter(|_| matches!(outcome, Ok(Outcome::Committed)));
                    payloads.filter_map(Place::of).map(|place| place.file).collect()
                };
                placing.keep(&outcomes.iter().zip(&placed).flat_map(used).collect());
                return Ok(outcomes);
            }
            Err(Failure::Moved) => {}
            Err(failure) => return Err(placing.failed(failure)),
        }
    }
    Err(Error::new(ErrorKind::Busy, "the chunks to amend are moved again and again").with_hint("try again"))
}

/// Writes pages of chunks into page files, then the chunks into their stage. They are not made durable.
pub(crate) fn stage(
    store: &Catalogue,
    files: &PageFiles,
    stage: StageId,
    chunks: &[NewChunk],
    now_ms: i64,
) -> Result<()> {
    let mut placing = Placing { store, files, held: Vec::new() };
    let mixed = placing.is_mixed(chunks.iter());
    let payloads = placing.chunks(chunks, mixed).map_err(|failure| store.error(failure))?;
    let placed = Placed { add: payloads, amend: Vec::new() };
    fault::point("pages are staged");
    let done = store.try_write(|writer| {
        writer.transaction(Sync::Later, |transaction| staging::write(transaction, stage, chunks, &placed, now_ms))
    });
    match done {
        Ok(()) => {
            placing.held.iter_mut().for_each(|(_, held)| held.keep());
            Ok(())
        }
        Err(failure) => Err(placing.failed(failure)),
    }
}

impl<'a> Placing<'a> {
    pub(crate) fn new(store: &'a Catalogue, files: &'a PageFiles) -> Self {
        Self { store, files, held: Vec::new() }
    }

    /// Keeps what was appended to these files.
    pub(crate) fn keep(&mut self, used: &BTreeSet<i64>) {
        let used = self.held.iter_mut().filter(|(_, held)| used.contains(&held.handle().number));
        used.for_each(|(_, held)| held.keep());
    }

    /// After a transaction that failed. Refused or never begun, it has surely not been done; else a crash may yet bring
    /// it back from the log, so that its pages must stay until reclaiming knows.
    pub(crate) fn failed(mut self, failure: Failure) -> Error {
        let undone = match &failure {
            Failure::Refused(_) | Failure::Moved => true,
            Failure::Sqlite(error) => primary_code(error) == Some(ffi::SQLITE_BUSY),
        };
        if !undone {
            self.held.iter_mut().for_each(|(_, held)| held.keep());
        }
        self.store.error(failure)
    }

    fn is_small(&self, chunk: &NewChunk) -> bool {
        chunk.descriptor.byte_count() < self.files.layout.small_chunk_bytes
    }

    /// Whether the chunks are of so many slices that they go into one file.
    fn is_mixed<'c>(&self, chunks: impl Iterator<Item = &'c NewChunk>) -> bool {
        let large = chunks.filter(|chunk| !self.is_small(chunk));
        let groups: BTreeSet<Group> = large.map(|chunk| Group::of_chunk(self.files, chunk)).collect();
        groups.len() > GROUPS_MAX
    }

    fn changes(&mut self, changes: &[Change]) -> Attempt<Vec<Placed>> {
        let mixed = self.is_mixed(changes.iter().flat_map(|change| &change.add));
        // What an amendment of this call makes of a chunk is what the next one of the same chunk begins with.
        let mut enlarged: HashMap<(ChunkId, &[u8]), i64> = HashMap::new();
        let mut placed = Vec::with_capacity(changes.len());
        for change in changes {
            // What contradicts itself is refused later.
            let whole = change.add.iter().try_for_each(chunk_write::check).is_ok();
            let add = if whole { self.chunks(&change.add, mixed)? } else { Vec::new() };
            let mut amend = Vec::with_capacity(change.amend.len());
            for amendment in &change.amend {
                let larger = match amend::check(amendment) {
                    Ok(()) => self.enlarge(amendment, &enlarged)?,
                    Err(_) => None,
                };
                if let Some(payload) = larger.as_ref().and_then(|larger| larger.payload) {
                    enlarged.insert((amendment.chunk, &amendment.descriptor_bytes), payload);
                }
                amend.push(larger);
            }
            placed.push(Placed { add, amend });
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
            let group = Group::of_chunk(self.files, chunk);
            let group = if mixed { group.mixed() } else { group };
            payloads.push(Some(self.append(group, &pages, &BTreeSet::new())?.payload()));
        }
        Ok(payloads)
    }

    /// Writes the pages of a chunk in a page file anew, with those of the amendment.
    fn enlarge(&mut self, amendment: &Amendment, before: &HashMap<(ChunkId, &[u8]), i64>) -> Attempt<Option<Enlarged>> {
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
        let Some(place) = Place::of(base) else { return Ok(None) };
        let unreadable = |error| self.files.failure(place.file, &format!("chunk {}", amendment.chunk.0), error);
        let file = self.files.reader(place.file).map_err(unreadable)?;
        let block = file::read_block(&file, place).map_err(unreadable)?;
        let had = block.read_all(&file).map_err(|error| unreadable(error.into()))?;
        let mut pages: Vec<(ColumnId, &[u8])> = had.iter().map(|(column, bytes)| (*column, bytes.as_slice())).collect();
        pages.extend(amendment.pages.iter().map(|(column, bytes)| (*column, bytes.as_slice())));
        let distinct: BTreeSet<ColumnId> = pages.iter().map(|(column, _)| *column).collect();
        if distinct.len() < pages.len() {
            return Ok(Some(Enlarged { base, payload: None }));
        }
        let group = Group::of(self.files, amendment.table.0, slice_start, sealed);
        let payload = self.append(group, &pages, &BTreeSet::new())?.payload();
        Ok(Some(Enlarged { base, payload: Some(payload) }))
    }

    /// Appends a block to a file of the group, though to none of `avoid`.
    pub(crate) fn append(
        &mut self,
        group: Group,
        pages: &[(ColumnId, &[u8])],
        avoid: &BTreeSet<i64>,
    ) -> Attempt<Place> {
        let found = self.held.iter().position(|(other, held)| *other == group && held.has_room());
        let position = match found {
            Some(position) => position,
            None => {
                let held = self.take(group, avoid)?;
                self.held.push((group, held));
                self.held.len() - 1
            }
        };
        let held = &mut self.held[position].1;
        held.append(pages).map_err(|error| self.files.write_failure(held.handle().number, error))
    }

    /// Takes a file that nobody writes to, or makes one. In a store of shards, whose number is bounded, it waits for one.
    fn take(&self, group: Group, avoid: &BTreeSet<i64>) -> Attempt<Held> {
        let Split::Shards(count) = self.files.layout.split else {
            return match self.take_existing(group, avoid)? {
                Found::Held(held) => Ok(held),
                Found::Busy | Found::None => self.create(group),
            };
        };
        let (start, mut wait) = (Instant::now(), WAIT);
        loop {
            let first = self.files.shard.load(Ordering::Relaxed);
            for shard in (0..usize::from(count)).map(|step| (first + step) % usize::from(count)) {
                let group = Group { part: shard as i64, ..group };
                let held = match self.take_existing(group, avoid)? {
                    Found::Held(held) => held,
                    Found::None => self.create(group)?,
                    Found::Busy => continue,
                };
                self.files.shard.store(shard, Ordering::Relaxed);
                return Ok(held);
            }
            if start.elapsed() > self.store.busy_timeout() {
                let message = format!("all shards of the store {} are held by other writers", self.store.place());
                return Err(Error::new(ErrorKind::Busy, message).with_hint("try again when they have finished").into());
            }
            std::thread::sleep(wait);
            wait = (wait * 2).min(WAIT_MAX);
        }
    }

    fn take_existing(&self, group: Group, avoid: &BTreeSet<i64>) -> Attempt<Found> {
        let sql = "SELECT id FROM atsdb_page_file WHERE table_id = ?1 AND part = ?2 AND sealed = ?3
                   ORDER BY id DESC LIMIT ?4";
        let numbers = self.store.try_read(|connection| {
            let values = params![group.table, group.part, group.sealed, TRIED_MAX];
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_map(values, |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?)
        })?;
        let mut busy = false;
        for number in numbers.into_iter().filter(|number| !avoid.contains(number)) {
            // Held by this very call, and full.
            let own = self.held.iter().any(|(_, held)| held.handle().number == number);
            if own {
                continue;
            }
            match self.claim(number)? {
                Claim::Held(held) => return Ok(Found::Held(held)),
                Claim::Busy => busy = true,
                Claim::Useless => {}
            }
        }
        Ok(if busy { Found::Busy } else { Found::None })
    }

    fn claim(&self, number: i64) -> Attempt<Claim> {
        let needed = || self.store.try_read(|connection| needed(connection, number));
        let opened = match self.files.writer(number, false) {
            // It was announced and is still to be made; or it is lost, which is for verify to tell.
            Err(error) if error.kind() == io::ErrorKind::NotFound => match needed()? {
                Some(Needed { chunks_end: 0, .. }) => self.files.writer(number, true),
                _ => return Ok(Claim::Useless),
            },
            other => other,
        };
        let handle = opened.map_err(|error| self.files.write_failure(number, error))?;
        self.files.claim(&handle, needed)
    }

    /// A new file. Whoever else looks for one may be the first to take it.
    fn create(&self, group: Group) -> Attempt<Held> {
        loop {
            let number = self.store.try_write(|writer| {
                writer.transaction(Sync::Later, |transaction| {
                    let sql = "INSERT INTO atsdb_page_file (table_id, part, sealed) VALUES (?1, ?2, ?3)";
                    transaction.prepare_cached(sql)?.execute(params![group.table, group.part, group.sealed])?;
                    Ok(transaction.last_insert_rowid())
                })
            })?;
            if let Claim::Held(held) = self.claim(number)? {
                return Ok(held);
            }
        }
    }

    /// Makes everything durable that the changes are going to make visible.
    fn sync(&self, changes: &[Change]) -> Attempt<()> {
        if self.files.durability == Durability::Off {
            return Ok(());
        }
        let mut staged = BTreeSet::new();
        for stage in changes.iter().filter_map(|change| change.stage) {
            staged.extend(self.store.try_read(|connection| files_of(connection, stage))?);
        }
        for (_, held) in &self.held {
            self.files.sync(held.handle())?;
            staged.remove(&held.handle().number);
        }
        let staged: Vec<i64> = staged.into_iter().collect();
        Ok(self.files.sync_all(&staged)?)
    }

    /// Makes durable what was appended.
    pub(crate) fn sync_held(&self) -> Attempt<()> {
        self.sync(&[])
    }
}

enum Found {
    Held(Held),
    Busy,
    None,
}
