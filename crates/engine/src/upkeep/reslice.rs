//! Re-slicing: splits the chunks that were made for another slice width than their table has now.
//!
//! The new chunks are fresh, so that they are sealed with their new neighbours. Each chunk is one commit. It is left
//! for later if another writer changes the chunk in the meantime.

use crate::chunk::encode::encode_fresh;
use crate::chunk::missing::missing_array;
use crate::chunk::slice_buffer::SliceBuffer;
use crate::read::snapshot::ReadSnapshot;
use crate::shared::Shared;
use crate::shared::commit::RefusedChange;
use crate::shared::holds::SealTrigger;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema};
use atsdb_codec::stored_type;
use atsdb_core::{
    Change, ChunkEntry, Column, Error, ErrorKind, NewChunk, Result, Table, TableDefinition, TableId, TimeRange,
};
use std::sync::Arc;

/// Returns whether a chunk is not in a slice of its table's present slice width.
pub(crate) fn is_misplaced(definition: &TableDefinition, entry: &ChunkEntry) -> bool {
    let slice = definition.slice_of(entry.time_min);
    definition.time.is_some() && (entry.slice_start != slice.start || !slice.contains(entry.time_max))
}

/// Re-slices up to `chunks_max` misplaced chunks of a table. Returns how many were done, and the first damage found,
/// which does not stop the others.
pub(crate) fn reslice(
    shared: &Arc<Shared>,
    table: TableId,
    chunks_max: usize,
    trigger: SealTrigger,
) -> Result<(usize, Option<Error>)> {
    let (snapshot, mut done, mut damage) = (ReadSnapshot::take(shared)?, 0, None);
    let Some(table) = snapshot.table_by_id(table) else { return Ok((0, None)) };
    let entries = snapshot.inner.store.chunks(table.id, TimeRange::ALL)?;
    let misplaced = entries.iter().filter(|entry| is_misplaced(&table.definition, entry));
    for entry in misplaced.take(chunks_max) {
        match reslice_chunk(shared, &snapshot, table, entry, trigger) {
            Ok(()) => done += 1,
            Err(error) if error.kind() == ErrorKind::Corrupt => damage = damage.or(Some(error)),
            Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    Ok((done, damage))
}

fn reslice_chunk(
    shared: &Arc<Shared>,
    snapshot: &ReadSnapshot,
    table: &Table,
    entry: &ChunkEntry,
    trigger: SealTrigger,
) -> Result<()> {
    let definition = &table.definition;
    let rows = stored_rows(snapshot, table, entry)?;
    let mut slices = SliceBuffer::default();
    let mut pieces = slices.push(definition, rows)?;
    pieces.extend(slices.drain()?);
    let encode = |piece| encode_fresh(table.id, definition, shared.environment.chunk_uid()?, piece);
    let add = pieces.iter().map(encode).collect::<Result<Vec<NewChunk>>>()?;
    let based_on = snapshot.based_on(table);
    let change = Change { add, remove: vec![(table.id, entry.id)], based_on, ..Change::default() };
    let _permit = shared.holds.permit(trigger, shared.environment.uptime())?;
    shared.commit(change, &[]).map_err(RefusedChange::into_error)?;
    Ok(())
}

/// All rows of a chunk in stored form.
fn stored_rows(snapshot: &ReadSnapshot, table: &Table, entry: &ChunkEntry) -> Result<RecordBatch> {
    let inner = &snapshot.inner;
    let columns: Vec<&Column> = table.definition.columns.iter().collect();
    let descriptor = inner.descriptor(table, entry)?;
    let arrays = inner.columns(table, entry, &descriptor, &columns, false)?;
    let fill = |(array, column): (Option<ArrayRef>, &&Column)| match array {
        Some(array) => Ok(array),
        None => missing_array(&table.definition, column, entry.row_count as usize),
    };
    let arrays = arrays.into_iter().zip(&columns).map(fill).collect::<Result<Vec<_>>>()?;
    let field = |column: &&Column| Field::new(&column.name, stored_type(column), column.nullable);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    Ok(RecordBatch::try_new(schema, arrays)?)
}
