//! Seal: the chunks of a slice are merged, sorted by series and time, and encoded with the strongest encodings.
//!
//! One column is in memory at a time, beside the keys by which all are sorted. Old chunks go and new ones come in
//! one commit, which fails, and is left for later, when somebody else has changed the slice meanwhile.

use crate::commit::Refused;
use crate::encode::new_chunk;
use crate::engine::{Engine, Shared};
use crate::membership::index_columns;
use crate::missing::missing_array;
use crate::reslice::reslice;
use crate::rollup::news_of_sealing;
use crate::seal_group::Group;
use crate::series_key::choose_key;
use crate::slice_buffer::{internal, times_from};
use crate::snapshot::{Inner, ReadSnapshot};
use crate::sort::SortKeys;
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt32Array};
use arrow::compute::{concat, max, min, take};
use atsdb_codec::{Effort, EncodedPage, encode_membership, encode_page};
use atsdb_core::limits::{CHUNK_ROWS_MAX, CHUNK_TEXT_BYTES_MAX};
use atsdb_core::{
    Change, ChunkDescriptor, ChunkEntry, ChunkId, ChunkUid, Column, ErrorKind, Index, NewChunk, Result, Slice, Table,
    TableDefinition, TableId, TimeRange,
};
use std::sync::Mutex;

/// How often a slice that changes meanwhile is sealed for somebody who waits for it.
const ATTEMPTS_MAX: usize = 5;

/// Who wants chunks to be sealed, or cut anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Somebody who waits for it.
    Asked,
    /// Nobody: it keeps out of the way of open transactions.
    ByItself,
}

/// With fewer rows no series key is looked for.
const KEY_ROWS_MIN: usize = 256;

/// What was sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SealReport {
    /// Slices looked into that had something to seal.
    pub slices: u64,
    /// Chunks that were merged.
    pub chunks_before: u64,
    /// Chunks they became.
    pub chunks_after: u64,
    /// Rows in them.
    pub rows: u64,
    /// Bytes of pages before.
    pub bytes_before: u64,
    /// Bytes of pages after.
    pub bytes_after: u64,
    /// Slices left alone because somebody else changed them meanwhile.
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

impl Engine {
    /// Seals every slice of one table, or of all, that has fresh chunks, and gives the space back. Chunks of another
    /// slice width than the table's are cut anew before. A damaged slice is left as it is, and told when the others are
    /// sealed.
    pub fn recompress(&self, table: Option<&Table>) -> Result<SealReport> {
        let tables: Vec<TableId> = self.snapshot()?.tables().iter().map(|table| table.id).collect();
        let mut report = SealReport::default();
        let mut damage = None;
        for table in tables.into_iter().filter(|other| table.is_none_or(|table| table.id == *other)) {
            damage = damage.or(reslice(self, table, usize::MAX, Order::Asked)?.1);
            let mut slices: Vec<i64> = self
                .shared
                .store
                .snapshot()?
                .chunks(table, TimeRange::ALL)?
                .iter()
                .filter(|entry| !entry.sealed)
                .map(|entry| entry.slice_start)
                .collect();
            slices.dedup();
            for slice_start in slices {
                match self.seal_in_attempts(table, slice_start) {
                    Ok(slice_report) => report.add(&slice_report),
                    // Damage stays local: the other slices are sealed all the same.
                    Err(error) if error.kind() == ErrorKind::Corrupt => damage = damage.or(Some(error)),
                    Err(error) => return Err(error),
                }
            }
        }
        self.reclaim()?;
        match damage {
            Some(error) => Err(error),
            None => Ok(report),
        }
    }

    /// Seals a slice; again under the present definition, and with the chunks that are there, when they changed meanwhile.
    fn seal_in_attempts(&self, table: TableId, slice_start: i64) -> Result<SealReport> {
        let mut report = SealReport::default();
        for _ in 0..ATTEMPTS_MAX {
            let attempt = seal_slice(self, table, slice_start, Order::Asked, |_| true)?;
            report = SealReport { conflicts: 0, ..report };
            report.add(&attempt);
            if attempt.conflicts == 0 {
                break;
            }
        }
        report.slices = report.slices.min(1);
        Ok(report)
    }

    /// Gives back what nothing uses any more.
    pub(crate) fn reclaim(&self) -> Result<()> {
        while reclaim_step(&self.shared)? {}
        Ok(())
    }
}

/// One step of giving space back; whether there is more.
pub(crate) fn reclaim_step(shared: &Shared) -> Result<bool> {
    const STEP_BYTES: u64 = 8 << 20;
    Ok(shared.store.reclaim(STEP_BYTES, shared.environment.now_ms())?.more)
}

/// Seals a slice. `wanted` picks the fresh chunks that take part; sealed ones join where that pays.
pub(crate) fn seal_slice(
    engine: &Engine,
    table: TableId,
    slice_start: i64,
    order: Order,
    wanted: impl Fn(&ChunkEntry) -> bool,
) -> Result<SealReport> {
    let snapshot = engine.snapshot()?;
    // Its definition is of the same moment as its chunks.
    let Some(table) = snapshot.table_by_id(table) else { return Ok(SealReport::default()) };
    let entries: Vec<ChunkEntry> = snapshot.inner.store.chunks(table.id, TimeRange::ALL)?;
    let entries: Vec<ChunkEntry> = entries.into_iter().filter(|entry| entry.slice_start == slice_start).collect();
    let (sealed, fresh): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.sealed);
    let fresh: Vec<ChunkEntry> = fresh.into_iter().filter(wanted).collect();
    let rows = |entries: &[ChunkEntry]| entries.iter().map(|entry| u64::from(entry.row_count)).sum::<u64>();
    if fresh.is_empty() {
        return Ok(SealReport::default());
    }
    // Late rows join their slice's sealed ones while these are few, or the late rows many; else they stay a sorted
    // run of their own, so that one late row does not rewrite a slice. What rows are to numbers, bytes are to text.
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
        match seal_group(engine, &snapshot, table, &group, order) {
            Ok(group_report) => report.add(&group_report),
            // Somebody else changed the slice, or dropped the table, meanwhile.
            Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => report.conflicts += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(report)
}

fn seal_group(
    engine: &Engine,
    snapshot: &ReadSnapshot,
    table: &Table,
    group: &Group,
    order: Order,
) -> Result<SealReport> {
    let shared = &engine.shared;
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
    let add = new.into_iter().chain(news_of_sealing(snapshot, table, &group.entries)?).collect();
    let change = Change { add, remove, based_on: snapshot.based_on(table), ..Default::default() };
    let _sealing = shared.holds.pass(order, shared.environment.uptime())?;
    shared.commit(change, &[]).map_err(Refused::into_error)?;
    Ok(report)
}

/// A column's, or index's, position and its pages, one for each new chunk.
type EncodedColumn = (usize, Vec<EncodedPage>);

/// Chunks on their way into fewer, sorted ones.
struct Merge<'a> {
    snapshot: &'a Inner,
    table: &'a Table,
    sources: Vec<(&'a ChunkEntry, ChunkDescriptor)>,
    /// Of each row, in the order of the sources; none if the table has no text.
    row_bytes: &'a [u32],
    times: Int64Array,
    order: Option<UInt32Array>,
}

impl<'a> Merge<'a> {
    fn open(snapshot: &'a Inner, table: &'a Table, group: &'a Group) -> Result<Self> {
        let describe = |entry: &'a ChunkEntry| snapshot.descriptor(table, entry).map(|descriptor| (entry, descriptor));
        let sources = group.entries.iter().map(describe).collect::<Result<Vec<_>>>()?;
        let (times, row_bytes) = (Int64Array::from(Vec::<i64>::new()), group.row_bytes.as_slice());
        let mut merge = Self { snapshot, table, sources, row_bytes, times, order: None };
        merge.times = merge.read_times()?;
        let keys = merge.key()?;
        let keys = keys.iter().map(|column| merge.read(column)).collect::<Result<Vec<_>>>()?;
        // A plain table has no order of its own: its rows stay as they came.
        if table.definition.time.is_some() || !keys.is_empty() {
            merge.order = SortKeys::new(&keys, &merge.times)?.order().map(UInt32Array::from);
        }
        if let Some(order) = &merge.order {
            merge.times = take(&merge.times, order, None).map_err(internal)?.as_primitive().clone();
        }
        Ok(merge)
    }

    /// A column of all sources, one after the other, in stored form.
    fn read(&self, column: &Column) -> Result<ArrayRef> {
        let arrays = self.sources.iter().map(|(entry, descriptor)| {
            let mut arrays = self.snapshot.columns(self.table, entry, descriptor, &[column], false)?;
            match arrays.pop().flatten() {
                Some(array) => Ok(array),
                None => missing_array(self.table, column, entry.row_count as usize),
            }
        });
        let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        concat(&arrays).map_err(internal)
    }

    fn read_times(&self) -> Result<Int64Array> {
        match self.table.definition.time_column() {
            Some(column) => times_from(&self.table.definition, &self.read(column)?),
            None => {
                let rows: usize = self.sources.iter().map(|(entry, _)| entry.row_count as usize).sum();
                Ok(Int64Array::from(vec![0; rows]))
            }
        }
    }

    /// The declared key, or the one that makes a sample smallest. Rows that fit into one small chunk stay in the order
    /// of time: what is learnt from them would not hold for more.
    fn key(&self) -> Result<Vec<&'a Column>> {
        let definition: &'a TableDefinition = &self.table.definition;
        if !definition.key.is_empty() {
            let is_time = |column: &Column| definition.time_column() == Some(column);
            let columns = definition.key.iter().filter_map(|id| definition.column_by_id(*id));
            return Ok(columns.filter(|column| !is_time(column)).collect());
        }
        if definition.time.is_none() || self.times.len() < KEY_ROWS_MIN {
            return Ok(Vec::new());
        }
        choose_key(&definition.columns, &self.times, &|column| self.read(column))
    }

    /// The new chunks: column by column, on as many threads as there are cores.
    fn chunks(&self, shared: &Shared) -> Result<Vec<NewChunk>> {
        let definition = &self.table.definition;
        let lengths = self.lengths();
        let uids = lengths.iter().map(|_| shared.environment.chunk_uid()).collect::<Result<Vec<ChunkUid>>>()?;
        // Columns first, then indexes.
        let next = Mutex::new(0..definition.columns.len() + definition.filtered_indexes().len());
        let work = || {
            let mut encoded = Vec::new();
            loop {
                let position = next.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
                let Some(position) = position else { return Ok(encoded) };
                let pages = match definition.columns.get(position) {
                    Some(column) => self.encode_column(column, &lengths, &uids)?,
                    None => {
                        self.encode_index(&definition.indexes[position - definition.columns.len()], &lengths, &uids)?
                    }
                };
                encoded.push((position, pages));
            }
        };
        let encoded: Vec<Result<Vec<EncodedColumn>>> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..shared.workers.thread_count()).map(|_| scope.spawn(work)).collect();
            let own = work();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|_| Err(atsdb_core::Error::internal("sealing a column panicked")))
            };
            std::iter::once(own).chain(others.into_iter().map(join)).collect()
        });
        let mut columns: Vec<EncodedColumn> = Vec::new();
        for part in encoded {
            columns.extend(part?);
        }
        columns.sort_by_key(|(position, _)| *position);
        let mut pages_of: Vec<Vec<EncodedPage>> = lengths.iter().map(|_| Vec::new()).collect();
        for (_, pages) in columns {
            pages.into_iter().zip(&mut pages_of).for_each(|(page, chunk)| chunk.push(page));
        }
        let mut start = 0;
        let mut chunks = Vec::with_capacity(lengths.len());
        for ((length, uid), pages) in lengths.iter().zip(uids).zip(pages_of) {
            let times = self.times.slice(start, *length);
            start += length;
            chunks.push(self.new_chunk(uid, &times, pages));
        }
        Ok(chunks)
    }

    fn new_chunk(&self, uid: ChunkUid, times: &Int64Array, pages: Vec<EncodedPage>) -> NewChunk {
        let (pages, descriptors) = pages.into_iter().map(|page| (page.bytes, page.descriptor)).unzip();
        let (time_min, time_max) = (min(times).unwrap_or(0), max(times).unwrap_or(0));
        let descriptor = ChunkDescriptor {
            uid,
            row_count: times.len() as u32,
            sealed: true,
            slice: self.slice(time_min),
            time_min,
            time_max,
            pages: descriptors,
        };
        new_chunk(self.table.id, descriptor, pages)
    }

    /// The slice of the sources, and of the table now: they differ while its width has changed and not all of its chunks
    /// are cut anew. Those that begin together have the widest.
    fn slice(&self, time_min: i64) -> Slice {
        let of_table = self.table.definition.slice_of(time_min);
        let start = self.sources[0].1.slice.start;
        let lasts = self.sources.iter().map(|(_, descriptor)| descriptor.slice.last);
        let last = lasts.chain((of_table.start == start).then_some(of_table.last)).max();
        Slice { start, last: last.unwrap_or(of_table.last) }
    }

    fn encode_column(&self, column: &Column, lengths: &[usize], uids: &[ChunkUid]) -> Result<Vec<EncodedPage>> {
        let array = self.sorted(column)?;
        let mut start = 0;
        let mut pages = Vec::with_capacity(lengths.len());
        for (length, uid) in lengths.iter().zip(uids) {
            pages.push(encode_page(*uid, column, &array.slice(start, *length), Effort::Sealed)?);
            start += length;
        }
        Ok(pages)
    }

    fn encode_index(&self, index: &Index, lengths: &[usize], uids: &[ChunkUid]) -> Result<Vec<EncodedPage>> {
        let definition = &self.table.definition;
        let columns = index_columns(definition, index, |position| self.sorted(&definition.columns[position]))?;
        let mut start = 0;
        let mut pages = Vec::with_capacity(lengths.len());
        for (length, uid) in lengths.iter().zip(uids) {
            let part: Vec<ArrayRef> = columns.iter().map(|column| column.slice(start, *length)).collect();
            pages.push(encode_membership(*uid, index.id, &part)?);
            start += length;
        }
        Ok(pages)
    }

    fn sorted(&self, column: &Column) -> Result<ArrayRef> {
        let array = self.read(column)?;
        match &self.order {
            Some(order) => take(&array, order, None).map_err(internal),
            None => Ok(array),
        }
    }

    /// How many rows each new chunk has.
    fn lengths(&self) -> Vec<usize> {
        let (mut lengths, mut length, mut bytes) = (Vec::new(), 0, 0);
        for row in 0..self.times.len() {
            let source = self.order.as_ref().map_or(row, |order| order.value(row) as usize);
            let more = self.row_bytes.get(source).copied().unwrap_or(0) as usize;
            if length == CHUNK_ROWS_MAX || (length > 0 && bytes + more > CHUNK_TEXT_BYTES_MAX) {
                lengths.push(length);
                (length, bytes) = (0, 0);
            }
            length += 1;
            bytes += more;
        }
        lengths.push(length);
        lengths
    }
}
