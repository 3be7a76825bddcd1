//! Reads the chunks of a cut, and checks their pages.

use crate::chunk::encode::{encode_fresh, new_chunk};
use crate::chunk::index_columns::{encode_index, index_columns};
use crate::chunk::slice_buffer::{SliceBuffer, times_from};
use crate::copy::cut::{Cut, CutChunk, CutSnapshot, CutTable};
use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::{filter, max, min};
use atsdb_codec::{Effort, check_page, decode_descriptor, decode_page, encode_page, stored_schema, to_stored};
use atsdb_core::{ChunkDescriptor, ChunkEntry, ColumnId, Error, NewChunk, Result, TableDefinition, TableId};
use atsdb_resident::TableState;
use std::ops::Range;
use std::sync::Arc;

impl Cut {
    /// Reads the chunks that `source` becomes in the copy, and checks every page. `owner` is the number of the table in
    /// the copy. The result is empty if no row is left.
    pub fn read(&self, table: &CutTable, source: &CutChunk, owner: TableId) -> Result<Vec<NewChunk>> {
        let location = |entry: &ChunkEntry| format!("table {}, chunk {}", table.table.definition.name, entry.id.0);
        match source {
            CutChunk::Whole(entry, _) => {
                let chunk = self.whole(table, entry, owner).map_err(|error| error.context(location(entry)))?;
                Ok(vec![chunk])
            }
            CutChunk::Partial(entry) => {
                let chunk = self.part(table, entry, owner).map_err(|error| error.context(location(entry)))?;
                Ok(chunk.into_iter().collect())
            }
            CutChunk::Resident(state, part, rows) => self.rows(table, state, *part, rows.clone(), owner),
        }
    }

    fn whole(&self, table: &CutTable, entry: &ChunkEntry, owner: TableId) -> Result<NewChunk> {
        let descriptor = self.descriptor(table, entry)?;
        let pages = self.pages(entry, &descriptor)?;
        Ok(NewChunk { table: owner, descriptor, descriptor_bytes: entry.descriptor_bytes.clone(), pages })
    }

    fn descriptor(&self, table: &CutTable, entry: &ChunkEntry) -> Result<ChunkDescriptor> {
        if let CutSnapshot::Engine(snapshot) = &self.snapshot {
            return snapshot.inner.descriptor(&table.table, entry).map(Arc::unwrap_or_clone);
        }
        decode_descriptor(&entry.descriptor_bytes)
    }

    fn pages(&self, entry: &ChunkEntry, descriptor: &ChunkDescriptor) -> Result<Vec<Vec<u8>>> {
        let ids: Vec<ColumnId> = descriptor.pages.iter().map(|page| page.column).collect();
        let pages = self.store().read_pages(entry.id, &ids)?;
        check_pages(descriptor, &pages)?;
        Ok(pages)
    }

    /// A new chunk of the rows in the time range. Columns stay in stored form: the indices of strings are the same.
    fn part(&self, table: &CutTable, entry: &ChunkEntry, owner: TableId) -> Result<Option<NewChunk>> {
        let definition = &table.table.definition;
        let old = self.descriptor(table, entry)?;
        let pages = self.pages(entry, &old)?;
        let decode = |id: ColumnId| -> Result<Option<ArrayRef>> {
            let Some(column) = definition.columns.iter().find(|column| column.id == id) else { return Ok(None) };
            let Ok(position) = old.pages.binary_search_by_key(&id, |page| page.column) else { return Ok(None) };
            decode_page(old.uid, column, old.row_count as usize, &pages[position]).map(Some)
        };
        let time = definition.time_column().ok_or_else(|| Error::internal("a range of a table without time"))?;
        let times = decode(time.id)?.ok_or_else(|| Error::corrupt("the chunk has no times"))?;
        let times = times_from(definition, &times)?;
        let keep: BooleanArray = times.values().iter().map(|time| Some(table.range.contains(*time))).collect();
        let kept = filter(&times, &keep)?;
        let kept = arrow::array::AsArray::as_primitive::<arrow::datatypes::Int64Type>(&kept);
        let (Some(time_min), Some(time_max)) = (min(kept), max(kept)) else { return Ok(None) };
        let effort = if old.sealed { Effort::Sealed } else { Effort::Fresh };
        let uid = self.new_uid()?;
        let (mut new_pages, mut descriptors) = (Vec::new(), Vec::new());
        let left = |id: ColumnId| -> Result<Option<ArrayRef>> {
            Ok(decode(id)?.map(|array| filter(&array, &keep)).transpose()?)
        };
        for column in &definition.columns {
            if let Some(array) = left(column.id)? {
                let page = encode_page(uid, column, &array, effort)?;
                new_pages.push(page.bytes);
                descriptors.push(page.descriptor);
            }
        }
        // A chunk without a filter is never pruned: a chunk that is older than a column of the index has none.
        let is_complete = |index: &&atsdb_core::Index| index.columns.iter().all(|column| old.page(*column).is_some());
        let indexes = definition.indexes.iter().filter(|index| old.page(index.id).is_some());
        for index in indexes.filter(is_complete) {
            let columns = index_columns(definition, index, |position| {
                left(definition.columns[position].id)?.ok_or_else(|| Error::internal("an index without its column"))
            })?;
            let page = encode_index(uid, definition, index, &columns)?;
            new_pages.push(page.bytes);
            descriptors.push(page.descriptor);
        }
        let descriptor =
            ChunkDescriptor { uid, row_count: kept.len() as u32, time_min, time_max, pages: descriptors, ..old };
        Ok(Some(new_chunk(owner, descriptor, new_pages)))
    }

    /// Chunks of rows of a table in memory, as an append would write them. Hash indexes are built when the table is
    /// loaded.
    fn rows(
        &self,
        table: &CutTable,
        state: &TableState,
        part: usize,
        rows: Range<usize>,
        owner: TableId,
    ) -> Result<Vec<NewChunk>> {
        let definition = TableDefinition { indexes: Vec::new(), ..table.table.definition.clone() };
        let positions: Vec<usize> = (0..definition.columns.len()).collect();
        let (columns, numbers) = state.read(part, rows, &positions)?;
        let stored = definition.columns.iter().zip(&columns).map(|(column, array)| to_stored(column, array));
        let columns = stored.collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(arrow::array::Array::len(&numbers)));
        let batch = RecordBatch::try_new_with_options(stored_schema(&definition), columns, &options)?;
        let mut slices = SliceBuffer::default();
        let mut chunks = slices.push(&definition, batch)?;
        chunks.extend(slices.drain()?);
        chunks.iter().map(|chunk| encode_fresh(owner, &definition, self.new_uid()?, chunk)).collect()
    }
}

/// Refuses pages that do not match their descriptor.
pub(crate) fn check_pages(descriptor: &ChunkDescriptor, pages: &[Vec<u8>]) -> Result<()> {
    if pages.len() != descriptor.pages.len() {
        return Err(Error::corrupt(format!("it has {} of its {} pages", pages.len(), descriptor.pages.len())));
    }
    for (known, page) in descriptor.pages.iter().zip(pages) {
        if page.len() != known.byte_count as usize {
            let message = format!("a page has {} bytes instead of {}", page.len(), known.byte_count);
            return Err(Error::corrupt(message).context(format_args!("column {}", known.column.0)));
        }
        check_page(descriptor.uid, known.column, page)
            .map_err(|error| error.context(format_args!("column {}", known.column.0)))?;
    }
    Ok(())
}
