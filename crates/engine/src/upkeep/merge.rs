//! Merges the chunks of a group into fewer, sorted ones. Each thread holds one column in memory at a time, besides the
//! sort keys.

use crate::chunk::encode::new_chunk;
use crate::chunk::index_columns::{encode_index, index_columns};
use crate::chunk::missing::missing_array;
use crate::chunk::series_key::choose_key;
use crate::chunk::slice_buffer::times_from;
use crate::chunk::sort::SortKeys;
use crate::read::snapshot::Inner;
use crate::shared::Shared;
use crate::upkeep::key_choice::KeyChoice;
use crate::upkeep::seal_group::Group;
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt32Array};
use arrow::compute::{concat, max, min, take};
use atsdb_codec::{Effort, EncodedPage, encode_page};
use atsdb_core::limits::{CHUNK_ROWS_MAX, CHUNK_TEXT_BYTES_MAX};
use atsdb_core::parallel::parallel_map;
use atsdb_core::{
    ChunkDescriptor, ChunkEntry, ChunkUid, Column, Index, NewChunk, Result, Slice, Table, TableDefinition,
};
use parking_lot::Mutex;
use std::sync::Arc;

/// The minimum number of rows for which a series key is chosen.
const KEY_ROWS_MIN: usize = 256;

/// A column or an index, which has a page in each new chunk.
enum PageSource<'a> {
    Column(&'a Column),
    Index(&'a Index),
}

/// A merge of chunks, with the order of its rows.
pub(crate) struct Merge<'a> {
    snapshot: &'a Inner,
    table: &'a Table,
    sources: Vec<(&'a ChunkEntry, Arc<ChunkDescriptor>)>,
    /// The bytes that the long values of each row count for in a chunk's limit, in the order of the sources, as
    /// [`Group`] has them.
    row_bytes: &'a [u32],
    times: Int64Array,
    order: Option<UInt32Array>,
}

impl<'a> Merge<'a> {
    pub(crate) fn open(
        snapshot: &'a Inner,
        table: &'a Table,
        group: &'a Group,
        choice: &Mutex<&mut KeyChoice>,
    ) -> Result<Self> {
        let describe = |entry: &'a ChunkEntry| snapshot.descriptor(table, entry).map(|descriptor| (entry, descriptor));
        let sources = group.entries.iter().map(describe).collect::<Result<Vec<_>>>()?;
        let (times, row_bytes) = (Int64Array::from(Vec::<i64>::new()), group.row_bytes.as_slice());
        let mut merge = Self { snapshot, table, sources, row_bytes, times, order: None };
        merge.times = merge.read_times()?;
        let keys = merge.key(choice)?;
        let keys = keys.iter().map(|column| merge.read(column)).collect::<Result<Vec<_>>>()?;
        // The rows of a plain table without a key keep their order.
        if table.definition.time.is_some() || !keys.is_empty() {
            merge.order = SortKeys::new(&keys, &merge.times)?.order().map(UInt32Array::from);
        }
        if let Some(order) = &merge.order {
            merge.times = take(&merge.times, order, None)?.as_primitive().clone();
        }
        Ok(merge)
    }

    /// Reads a column of all sources, concatenated, in stored form.
    fn read(&self, column: &Column) -> Result<ArrayRef> {
        let arrays = self.sources.iter().map(|(entry, descriptor)| {
            let mut arrays = self.snapshot.columns(self.table, entry, descriptor, &[column], false)?;
            match arrays.pop().flatten() {
                Some(array) => Ok(array),
                None => missing_array(&self.table.definition, column, entry.row_count as usize),
            }
        });
        let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        Ok(concat(&arrays)?)
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

    /// The declared key, or the one that makes a sample smallest. A few rows are sorted by time alone: a key chosen
    /// from them would not suit more rows.
    fn key(&self, choice: &Mutex<&mut KeyChoice>) -> Result<Vec<&'a Column>> {
        let definition: &'a TableDefinition = &self.table.definition;
        if !definition.key.is_empty() {
            let is_time = |column: &Column| definition.time_column() == Some(column);
            let columns = definition.key.iter().filter_map(|id| definition.column_by_id(*id));
            return Ok(columns.filter(|column| !is_time(column)).collect());
        }
        if definition.time.is_none() || self.times.len() < KEY_ROWS_MIN {
            return Ok(Vec::new());
        }
        let threads = self.snapshot.shared.workers.thread_count();
        // Another group that is merged meanwhile waits for the choice, and uses it.
        choice.lock().key(self.table, self.times.len(), || {
            choose_key(&definition.columns, &self.times, threads, &|column| self.read(column))
        })
    }

    /// Encodes the new chunks on this number of threads, one column per thread at a time.
    pub(crate) fn chunks(&self, shared: &Shared, threads: usize) -> Result<Vec<NewChunk>> {
        let definition = &self.table.definition;
        let lengths = self.lengths();
        let uids = lengths.iter().map(|_| shared.environment.chunk_uid()).collect::<Result<Vec<ChunkUid>>>()?;
        let columns = definition.columns.iter().map(PageSource::Column);
        let parts: Vec<PageSource<'_>> =
            columns.chain(definition.filtered_indexes().iter().map(PageSource::Index)).collect();
        let encode = |part: &PageSource<'_>| match part {
            PageSource::Column(column) => self.encode_column(column, &lengths, &uids),
            PageSource::Index(index) => self.encode_index(index, &lengths, &uids),
        };
        let mut pages_of: Vec<Vec<EncodedPage>> = lengths.iter().map(|_| Vec::new()).collect();
        for pages in parallel_map(threads, &parts, encode)? {
            for (page, chunk) in pages.into_iter().zip(&mut pages_of) {
                chunk.push(page);
            }
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

    /// The slice of the new chunks. The slices of the sources and of the table differ while its slice width has changed
    /// and not all chunks are re-sliced. Of slices with the same start the widest is used.
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
            pages.push(encode_index(*uid, definition, index, &part)?);
            start += length;
        }
        Ok(pages)
    }

    fn sorted(&self, column: &Column) -> Result<ArrayRef> {
        let array = self.read(column)?;
        match &self.order {
            Some(order) => Ok(take(&array, order, None)?),
            None => Ok(array),
        }
    }

    /// The number of rows of each new chunk.
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
