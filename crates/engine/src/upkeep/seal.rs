//! Sealing: merges the chunks of a slice, sorts them by series and time, and encodes them with the strongest encodings.
//!
//! One change removes the old chunks and adds the new ones. If another writer has changed the slice in the meantime,
//! the change is refused and the slice is left for later. Changes of several small slices share one commit.

use crate::read::rollup::log_of_sealing;
use crate::read::snapshot::ReadSnapshot;
use crate::shared::Shared;
use crate::shared::commit::RefusedChange;
use crate::shared::holds::SealTrigger;
use crate::upkeep::key_choice::KeyChoice;
use crate::upkeep::merge::Merge;
use crate::upkeep::reslice::reslice;
use crate::upkeep::seal_group::Group;
use atsdb_core::limits::{CHUNK_ROWS_MAX, CHUNK_TEXT_BYTES_MAX};
use atsdb_core::parallel::parallel_map;
use atsdb_core::{Change, ChunkEntry, ChunkId, Error, ErrorKind, NewChunk, Result, Table, TableId, TimeRange};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum number of attempts to seal a slice for a caller while other writers change it.
const ATTEMPTS_MAX: usize = 5;

/// A listing of a table's chunks is used until slices of this many bytes have been sealed: while its snapshot is held,
/// the store cannot return the space of removed chunks.
const LISTED_BYTES_MAX: u64 = 64 << 20;

/// Groups of chunks that are merged side by side: reading and sorting a group uses one thread, and encoding its columns
/// uses several. Each group in work takes memory.
const GROUPS_AT_ONCE: usize = 2;

/// Changes wait for a common commit until they add this many bytes of pages, or are this many.
const WAITING_BYTES_MAX: u64 = 16 << 20;
/// A store in many files gives each slice its own only if a commit has up to 32 of them. A change may have two: that of
/// its rows, and that of the log of rollups.
const WAITING_CHANGES_MAX: usize = 16;

/// The result of sealing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SealReport {
    /// Slices that had fresh chunks.
    pub slices: u64,
    /// Chunks that were merged.
    pub chunks_before: u64,
    /// Chunks that resulted.
    pub chunks_after: u64,
    /// Rows in them.
    pub rows: u64,
    /// Bytes of pages before.
    pub bytes_before: u64,
    /// Bytes of pages after.
    pub bytes_after: u64,
    /// Merges discarded because another writer changed the slice in the meantime.
    pub conflicts: u64,
}

impl SealReport {
    fn add(&mut self, other: &Self) {
        self.slices += other.slices;
        self.chunks_before += other.chunks_before;
        self.chunks_after += other.chunks_after;
        self.rows += other.rows;
        self.bytes_before += other.bytes_before;
        self.bytes_after += other.bytes_after;
        self.conflicts += other.conflicts;
    }
}

/// Seals all slices of one table, or of all tables, that have fresh chunks
/// ([`Engine::recompress`](crate::Engine::recompress)).
pub(crate) fn recompress(shared: &Arc<Shared>, table: Option<&Table>) -> Result<SealReport> {
    let tables: Vec<TableId> = ReadSnapshot::take(shared)?.tables().iter().map(|table| table.id).collect();
    let mut report = SealReport::default();
    let mut damage = None;
    for table in tables.into_iter().filter(|other| table.is_none_or(|table| table.id == *other)) {
        damage = damage.or(reslice(shared, table, usize::MAX, SealTrigger::Requested)?.1);
        let mut slices: Vec<i64> = shared
            .store
            .snapshot()?
            .chunks(table, TimeRange::ALL)?
            .iter()
            .filter(|entry| !entry.sealed)
            .map(|entry| entry.slice_start)
            .collect();
        slices.dedup();
        let mut sealer = Sealer::new(shared, table, SealTrigger::Requested);
        let mut waiting = WaitingSeals::new(shared);
        for slice_start in slices {
            match sealer.prepare(slice_start, &mut waiting) {
                Ok(()) => {}
                // Damage stays local: the other slices are sealed nevertheless.
                Err(error) if error.kind() == ErrorKind::Corrupt => damage = damage.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        waiting.commit()?;
        report.add(&waiting.report);
        waiting.conflicts.sort_unstable();
        waiting.conflicts.dedup();
        // The listing is older than what has conflicted with it.
        let mut sealer = Sealer::new(shared, table, SealTrigger::Requested);
        for slice_start in waiting.conflicts {
            match seal_in_attempts(&mut sealer, slice_start) {
                Ok(slice_report) => report.add(&SealReport { slices: 0, ..slice_report }),
                Err(error) if error.kind() == ErrorKind::Corrupt => damage = damage.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
    }
    shared.reclaim()?;
    match damage {
        Some(error) => Err(error),
        None => Ok(report),
    }
}

/// Seals a slice, and retries with its present chunks and definition if these have changed.
fn seal_in_attempts(sealer: &mut Sealer<'_>, slice_start: i64) -> Result<SealReport> {
    let mut report = SealReport::default();
    for _ in 0..ATTEMPTS_MAX {
        let attempt = sealer.seal(slice_start, |_| true)?;
        report = SealReport { conflicts: 0, ..report };
        report.add(&attempt);
        if attempt.conflicts == 0 {
            break;
        }
    }
    report.slices = report.slices.min(1);
    Ok(report)
}

/// Seals slices of one table, one after the other. The table's chunks are listed once for many small slices: listing
/// them for each slice would take time proportional to slices times chunks.
pub(crate) struct Sealer<'a> {
    shared: &'a Arc<Shared>,
    table: TableId,
    trigger: SealTrigger,
    listing: Option<ChunkListing>,
    key_choice: KeyChoice,
}

/// A table's chunks at one moment, by slice.
struct ChunkListing {
    snapshot: ReadSnapshot,
    /// The table under the definition of that moment.
    table: Table,
    slices: HashMap<i64, Vec<ChunkEntry>>,
    /// Bytes of the chunks sealed since.
    sealed_bytes: u64,
}

impl ChunkListing {
    fn take(shared: &Arc<Shared>, table: TableId) -> Result<Option<Self>> {
        let snapshot = ReadSnapshot::take(shared)?;
        let Some(table) = snapshot.table_by_id(table).cloned() else { return Ok(None) };
        let mut slices: HashMap<i64, Vec<ChunkEntry>> = HashMap::new();
        for entry in snapshot.inner.store.chunks(table.id, TimeRange::ALL)? {
            slices.entry(entry.slice_start).or_default().push(entry);
        }
        Ok(Some(Self { snapshot, table, slices, sealed_bytes: 0 }))
    }
}

impl<'a> Sealer<'a> {
    pub(crate) fn new(shared: &'a Arc<Shared>, table: TableId, trigger: SealTrigger) -> Self {
        Self { shared, table, trigger, listing: None, key_choice: KeyChoice::default() }
    }

    /// Seals a slice. `wanted` selects the fresh chunks to seal; sealed chunks are merged with them if that pays off.
    pub(crate) fn seal(&mut self, slice_start: i64, wanted: impl Fn(&ChunkEntry) -> bool) -> Result<SealReport> {
        let (shared, trigger) = (self.shared, self.trigger);
        let mut report = SealReport::default();
        let has_fresh = self.merge(slice_start, wanted, &mut |merged| {
            let sealed = merged.and_then(|seal| {
                let _permit = shared.holds.permit(trigger, shared.environment.uptime())?;
                shared.commit(seal.change, &[]).map_err(RefusedChange::into_error)?;
                Ok(seal.report)
            });
            match sealed {
                Ok(group_report) => report.add(&group_report),
                // Another writer has changed the slice or dropped the table.
                Err(error) if is_conflict(&error) => report.conflicts += 1,
                Err(error) => return Err(error),
            }
            Ok(())
        })?;
        report.slices = u64::from(has_fresh);
        // After a conflict the next slice gets a new listing.
        if report.conflicts > 0 {
            self.listing = None;
        }
        Ok(report)
    }

    /// Merges all fresh chunks of a slice, for a commit with other slices.
    fn prepare(&mut self, slice_start: i64, waiting: &mut WaitingSeals<'_>) -> Result<()> {
        let has_fresh = self.merge(slice_start, |_| true, &mut |merged| waiting.add(slice_start, merged))?;
        waiting.report.slices += u64::from(has_fresh);
        Ok(())
    }

    /// Merges the chunks of a slice, group by group. Returns whether there were fresh chunks.
    fn merge(
        &mut self,
        slice_start: i64,
        wanted: impl Fn(&ChunkEntry) -> bool,
        deliver: &mut dyn FnMut(Result<PreparedSeal>) -> Result<()>,
    ) -> Result<bool> {
        let listing = match self.listing.take() {
            Some(listing) => Some(listing),
            None => ChunkListing::take(self.shared, self.table)?,
        };
        let Some(mut listing) = listing else { return Ok(false) };
        let entries = listing.slices.remove(&slice_start).unwrap_or_default();
        let mut bytes = 0;
        let merger = ChunkMerger {
            shared: self.shared,
            snapshot: &listing.snapshot,
            table: &listing.table,
            key_choice: Mutex::new(&mut self.key_choice),
        };
        let has_fresh = merger.merge(entries, wanted, &mut |merged| {
            bytes += merged.as_ref().map_or(0, |seal| seal.report.bytes_before);
            deliver(merged)
        })?;
        listing.sealed_bytes += bytes;
        if listing.sealed_bytes < LISTED_BYTES_MAX {
            self.listing = Some(listing);
        }
        Ok(has_fresh)
    }
}

/// The merge of a group of chunks, ready to be committed.
struct PreparedSeal {
    change: Change,
    report: SealReport,
}

/// Merges of several slices that are committed together: a separate commit for each small slice would wait for the disk
/// as often.
struct WaitingSeals<'a> {
    shared: &'a Shared,
    /// The changes that wait, each with its slice.
    seals: Vec<(i64, PreparedSeal)>,
    /// The size of their new pages.
    bytes: u64,
    /// The changes that were committed.
    report: SealReport,
    /// The slices that another writer has changed in the meantime.
    conflicts: Vec<i64>,
}

impl<'a> WaitingSeals<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self { shared, seals: Vec::new(), bytes: 0, report: SealReport::default(), conflicts: Vec::new() }
    }

    fn add(&mut self, slice_start: i64, merged: Result<PreparedSeal>) -> Result<()> {
        match merged {
            Ok(seal) => {
                self.bytes += seal.report.bytes_after;
                self.seals.push((slice_start, seal));
            }
            Err(error) if is_conflict(&error) => self.conflicts.push(slice_start),
            Err(error) => return Err(error),
        }
        let is_full = self.bytes >= WAITING_BYTES_MAX || self.seals.len() >= WAITING_CHANGES_MAX;
        if is_full { self.commit() } else { Ok(()) }
    }

    /// Commits the waiting changes. Each is applied or refused separately.
    fn commit(&mut self) -> Result<()> {
        self.bytes = 0;
        let mut changes = Vec::with_capacity(self.seals.len());
        let mut reports = Vec::with_capacity(self.seals.len());
        for (slice_start, seal) in std::mem::take(&mut self.seals) {
            changes.push(seal.change);
            reports.push((slice_start, seal.report));
        }
        for (result, (slice_start, report)) in self.shared.commit_together(changes).into_iter().zip(reports) {
            match result.map_err(RefusedChange::into_error) {
                Ok(_) => self.report.add(&report),
                Err(error) if is_conflict(&error) => self.conflicts.push(slice_start),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Returns whether another writer has changed a slice or dropped its table.
fn is_conflict(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound)
}

/// Merges chunks of one table.
struct ChunkMerger<'a> {
    shared: &'a Arc<Shared>,
    snapshot: &'a ReadSnapshot,
    table: &'a Table,
    key_choice: Mutex<&'a mut KeyChoice>,
}

impl ChunkMerger<'_> {
    /// Merges the wanted fresh chunks of a slice, group by group. Returns whether there are any.
    fn merge(
        &self,
        entries: Vec<ChunkEntry>,
        wanted: impl Fn(&ChunkEntry) -> bool,
        deliver: &mut dyn FnMut(Result<PreparedSeal>) -> Result<()>,
    ) -> Result<bool> {
        let (sealed, mut merged): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.sealed);
        merged.retain(wanted);
        if merged.is_empty() {
            return Ok(false);
        }
        if belong_together(&sealed, &merged) {
            merged.extend(sealed);
        }
        merged.sort_by_key(|entry| (entry.time_min, entry.id));
        let mut sources = merged.into_iter().peekable();
        let threads = self.shared.workers.thread_count();
        loop {
            let (mut groups, mut failure) = (Vec::new(), None);
            while failure.is_none() && groups.len() < threads.min(GROUPS_AT_ONCE) {
                match Group::next(&self.snapshot.inner, self.table, &mut sources) {
                    Ok(Some(group)) if group.entries.iter().all(|entry| entry.sealed) => {}
                    Ok(Some(group)) => groups.push(group),
                    Ok(None) => break,
                    // The group before it is merged nevertheless.
                    Err(error) => failure = Some(error),
                }
            }
            let threads = threads / groups.len().max(1);
            let merge = |group: &Group| Ok(self.merge_group(group, threads));
            for merged in parallel_map(groups.len(), &groups, merge)? {
                deliver(merged)?;
            }
            if let Some(error) = failure {
                return Err(error);
            }
            if groups.is_empty() {
                return Ok(true);
            }
        }
    }

    fn merge_group(&self, group: &Group, threads: usize) -> Result<PreparedSeal> {
        let Self { shared, snapshot, table, key_choice } = self;
        let merge = Merge::open(&snapshot.inner, table, group, key_choice)?;
        let new = merge.chunks(shared, threads)?;
        new.iter().try_for_each(|chunk| shared.preload_chunk(&table.definition, chunk))?;
        let bytes = |chunks: &[NewChunk]| chunks.iter().map(|chunk| chunk.descriptor.byte_count()).sum::<u64>();
        let report = SealReport {
            slices: 0,
            chunks_before: group.entries.len() as u64,
            chunks_after: new.len() as u64,
            rows: group.entries.iter().map(|entry| u64::from(entry.row_count)).sum(),
            bytes_before: group.entries.iter().map(|entry| entry.byte_count).sum(),
            bytes_after: bytes(&new),
            conflicts: 0,
        };
        let remove: Vec<(_, ChunkId)> = group.entries.iter().map(|entry| (table.id, entry.id)).collect();
        let add = new.into_iter().chain(log_of_sealing(snapshot, table, &group.entries)?).collect();
        let change = Change { add, remove, based_on: snapshot.based_on(table), ..Default::default() };
        Ok(PreparedSeal { change, report })
    }
}

/// Returns whether late rows are merged with the sealed chunks of their slice: if these are few compared with the late
/// rows. Otherwise late rows become a separate sorted run, so that one of them does not rewrite a slice. Bytes count,
/// too, because of text.
fn belong_together(sealed: &[ChunkEntry], fresh: &[ChunkEntry]) -> bool {
    let rows = |entries: &[ChunkEntry]| entries.iter().map(|entry| u64::from(entry.row_count)).sum::<u64>();
    let bytes = |entries: &[ChunkEntry]| entries.iter().map(|entry| entry.byte_count).sum::<u64>();
    rows(sealed) <= 8 * rows(fresh).max(CHUNK_ROWS_MAX as u64)
        && bytes(sealed) <= 8 * bytes(fresh).max(CHUNK_TEXT_BYTES_MAX as u64)
}
