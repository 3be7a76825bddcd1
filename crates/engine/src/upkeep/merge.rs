//! Merging the chunks of a group into fewer, sorted ones. One column is in memory at a time, beside the keys by which all are
//! sorted.

use crate::chunk::encode::new_chunk;
use crate::chunk::index_columns::index_columns;
use crate::chunk::missing::missing_array;
use crate::chunk::series_key::choose_key;
use crate::chunk::slice_buffer::{internal, times_from};
use crate::chunk::sort::SortKeys;
use crate::read::snapshot::Inner;
use crate::shared::Shared;
use crate::upkeep::seal_group::Group;
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt32Array};
use arrow::compute::{concat, max, min, take};
use atsdb_codec::{Effort, EncodedPage, encode_membership, encode_page};
use atsdb_core::limits::{CHUNK_ROWS_MAX, CHUNK_TEXT_BYTES_MAX};
use atsdb_core::{
    ChunkDescriptor, ChunkEntry, ChunkUid, Column, Index, NewChunk, Result, Slice, Table, TableDefinition,
};
use std::sync::Mutex;

/// With fewer rows no series key is looked for.
const KEY_ROWS_MIN: usize = 256;

/// A column's, or index's, position and its pages, one for each new chunk.
type EncodedColumn = (usize, Vec<EncodedPage>);

/// Chunks on their way into fewer, sorted ones.
pub(crate) struct Merge<'a> {
    snapshot: &'a Inner,
    table: &'a Table,
    sources: Vec<(&'a ChunkEntry, ChunkDescriptor)>,
    /// Of each row, in the order of the sources; none if the table has no text.
    row_bytes: &'a [u32],
    times: Int64Array,
    order: Option<UInt32Array>,
}

impl<'a> Merge<'a> {
    pub(crate) fn open(snapshot: &'a Inner, table: &'a Table, group: &'a Group) -> Result<Self> {
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
    pub(crate) fn chunks(&self, shared: &Shared) -> Result<Vec<NewChunk>> {
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
