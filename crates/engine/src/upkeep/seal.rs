//! Sealing: merges the chunks of a slice, sorts them by series and time, and encodes them with the strongest encodings.
//!
//! One commit removes the old chunks and adds the new ones. If another writer has changed the slice in the meantime,
//! the commit fails and the slice is left for later.

use crate::read::rollup::log_of_sealing;
use crate::read::snapshot::ReadSnapshot;
use crate::shared::Shared;
use crate::shared::commit::RefusedChange;
use crate::shared::holds::SealTrigger;
use crate::upkeep::merge::Merge;
use crate::upkeep::reslice::reslice;
use crate::upkeep::seal_group::Group;
use atsdb_core::limits::{CHUNK_ROWS_MAX, CHUNK_TEXT_BYTES_MAX};
use atsdb_core::{Change, ChunkEntry, ChunkId, ErrorKind, NewChunk, Result, Table, TableId, TimeRange};
use std::collections::HashMap;
use std::sync::Arc;

/// How often sealing a slice is attempted for a caller while other writers change it.
const ATTEMPTS_MAX: usize = 5;

/// A listing of a table's chunks is used until slices of this many bytes have been sealed: while its snapshot is held,
/// the store cannot give the space of removed chunks back.
const LISTED_BYTES_MAX: u64 = 64 << 20;

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
        for slice_start in slices {
            match seal_in_attempts(&mut sealer, slice_start) {
                Ok(slice_report) => report.add(&slice_report),
                // Damage stays local: the other slices are sealed nevertheless.
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
        Self { shared, table, trigger, listing: None }
    }

    /// Seals a slice. `wanted` selects the fresh chunks to seal; sealed chunks are merged with them if that pays off.
    pub(crate) fn seal(&mut self, slice_start: i64, wanted: impl Fn(&ChunkEntry) -> bool) -> Result<SealReport> {
        let listing = match self.listing.take() {
            Some(listing) => Some(listing),
            None => ChunkListing::take(self.shared, self.table)?,
        };
        let Some(mut listing) = listing else { return Ok(SealReport::default()) };
        let entries = listing.slices.remove(&slice_start).unwrap_or_default();
        let report = seal_entries(self.shared, &listing.snapshot, &listing.table, entries, wanted, self.trigger)?;
        listing.sealed_bytes += report.bytes_before;
        // After a conflict the next slice gets a new listing.
        if report.conflicts == 0 && listing.sealed_bytes < LISTED_BYTES_MAX {
            self.listing = Some(listing);
        }
        Ok(report)
    }
}

fn seal_entries(
    shared: &Arc<Shared>,
    snapshot: &ReadSnapshot,
    table: &Table,
    entries: Vec<ChunkEntry>,
    wanted: impl Fn(&ChunkEntry) -> bool,
    trigger: SealTrigger,
) -> Result<SealReport> {
    let (sealed, fresh): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.sealed);
    let fresh: Vec<ChunkEntry> = fresh.into_iter().filter(wanted).collect();
    let rows = |entries: &[ChunkEntry]| entries.iter().map(|entry| u64::from(entry.row_count)).sum::<u64>();
    if fresh.is_empty() {
        return Ok(SealReport::default());
    }
    // Late rows are merged with the sealed chunks of their slice if these are few compared with the late rows.
    // Otherwise they become a sorted run of their own, so that one late row does not rewrite a slice. Bytes count, too,
    // because of text.
    let bytes = |entries: &[ChunkEntry]| entries.iter().map(|entry| entry.byte_count).sum::<u64>();
    let together = rows(&sealed) <= 8 * rows(&fresh).max(CHUNK_ROWS_MAX as u64)
        && bytes(&sealed) <= 8 * bytes(&fresh).max(CHUNK_TEXT_BYTES_MAX as u64);
    let mut merged = fresh;
    if together {
        merged.extend(sealed);
    }
    merged.sort_by_key(|entry| (entry.time_min, entry.id));
    let mut report = SealReport { slices: 1, ..Default::default() };
    let mut sources = merged.into_iter().peekable();
    while let Some(group) = Group::next(&snapshot.inner, table, &mut sources)? {
        if group.entries.iter().all(|entry| entry.sealed) {
            continue;
        }
        match seal_group(shared, snapshot, table, &group, trigger) {
            Ok(group_report) => report.add(&group_report),
            // Another writer has changed the slice or dropped the table.
            Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => report.conflicts += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(report)
}

fn seal_group(
    shared: &Arc<Shared>,
    snapshot: &ReadSnapshot,
    table: &Table,
    group: &Group,
    trigger: SealTrigger,
) -> Result<SealReport> {
    let merge = Merge::open(&snapshot.inner, table, group)?;
    let new = merge.chunks(shared)?;
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
    let _permit = shared.holds.permit(trigger, shared.environment.uptime())?;
    shared.commit(change, &[]).map_err(RefusedChange::into_error)?;
    Ok(report)
}
