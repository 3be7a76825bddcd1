//! Encodes the rows of one chunk into its pages and descriptor.

use crate::chunk::index_columns::{encode_index, index_columns};
use crate::chunk::slice_buffer::ChunkRows;
use arrow::array::ArrayRef;
use atsdb_codec::{Effort, encode_descriptor, encode_page};
use atsdb_core::{ChunkDescriptor, ChunkUid, NewChunk, Result, TableDefinition, TableId};

/// Encodes appended rows as a fresh chunk.
pub(crate) fn encode_fresh(
    table: TableId,
    definition: &TableDefinition,
    uid: ChunkUid,
    chunk: &ChunkRows,
) -> Result<NewChunk> {
    let mut pages = Vec::with_capacity(definition.columns.len());
    let mut descriptors = Vec::with_capacity(definition.columns.len());
    for (column, array) in definition.columns.iter().zip(chunk.rows.columns()) {
        let page = encode_page(uid, column, array, Effort::Fresh)?;
        pages.push(page.bytes);
        descriptors.push(page.descriptor);
    }
    for index in definition.filtered_indexes() {
        let columns = index_columns(definition, index, |position| Ok(ArrayRef::clone(chunk.rows.column(position))))?;
        let page = encode_index(uid, definition, index, &columns)?;
        pages.push(page.bytes);
        descriptors.push(page.descriptor);
    }
    let descriptor = ChunkDescriptor {
        uid,
        row_count: chunk.rows.num_rows() as u32,
        sealed: false,
        slice: chunk.slice,
        time_min: chunk.time_min,
        time_max: chunk.time_max,
        pages: descriptors,
    };
    Ok(new_chunk(table, descriptor, pages))
}

/// Makes a chunk of a descriptor and its pages, and sorts both by column number.
pub(crate) fn new_chunk(table: TableId, mut descriptor: ChunkDescriptor, pages: Vec<Vec<u8>>) -> NewChunk {
    let mut both: Vec<_> = std::mem::take(&mut descriptor.pages).into_iter().zip(pages).collect();
    both.sort_by_key(|(page, _)| page.column);
    let (descriptors, pages) = both.into_iter().unzip();
    descriptor.pages = descriptors;
    let descriptor_bytes = encode_descriptor(&descriptor);
    NewChunk { table, descriptor, descriptor_bytes, pages }
}
