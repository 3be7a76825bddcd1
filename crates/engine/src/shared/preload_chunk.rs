//! Preloading of chunks that this process encodes, before their commit.

use crate::chunk::slice_buffer::ChunkRows;
use crate::shared::Shared;
use crate::shared::preload::{compacted, in_ms};
use atsdb_codec::decode_page;
use atsdb_core::{ChunkUid, NewChunk, Result, TableDefinition};

impl Shared {
    /// Preloads the rows of a fresh chunk.
    pub(crate) fn preload_rows(&self, definition: &TableDefinition, chunk: ChunkUid, rows: &ChunkRows) {
        if self.preloaded_from(definition).is_none_or(|from| rows.time_max < from) {
            return;
        }
        let columns = definition.columns.iter().zip(rows.rows.columns());
        let columns = columns.map(|(column, array)| (column.id, compacted(array))).collect();
        self.preloaded.put(chunk, in_ms(definition, rows.time_max), columns);
    }

    /// Preloads the columns of a sealed chunk, from its pages in memory.
    pub(crate) fn preload_chunk(&self, definition: &TableDefinition, chunk: &NewChunk) -> Result<()> {
        let descriptor = &chunk.descriptor;
        if self.preloaded_from(definition).is_none_or(|from| descriptor.time_max < from) {
            return Ok(());
        }
        let mut columns = Vec::with_capacity(chunk.pages.len());
        for (page, bytes) in descriptor.pages.iter().zip(&chunk.pages) {
            if let Some(column) = definition.column_by_id(page.column) {
                let array = decode_page(descriptor.uid, column, descriptor.row_count as usize, bytes)?;
                columns.push((column.id, array));
            }
        }
        self.preloaded.put(descriptor.uid, in_ms(definition, descriptor.time_max), columns);
        Ok(())
    }
}
