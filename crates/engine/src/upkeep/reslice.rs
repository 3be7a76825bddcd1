//! Reslice: chunks that were cut for another slice width than their table has now are cut anew.
//!
//! What they become is fresh, so that it is sealed with its new neighbours. Each chunk is one commit, which is left for
//! later when somebody else has changed the chunk meanwhile.

use crate::chunk::encode::encode_fresh;
use crate::chunk::missing::missing_array;
use crate::chunk::slice_buffer::{SliceBuffer, internal};
use crate::read::snapshot::ReadSnapshot;
use crate::shared::Shared;
use crate::shared::commit::Refused;
use crate::shared::holds::Order;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema};
use atsdb_codec::stored_type;
use atsdb_core::{
    Change, ChunkEntry, Column, Error, ErrorKind, NewChunk, Result, Table, TableDefinition, TableId, TimeRange,
};
use std::sync::Arc;

/// Whether a chunk does not lie in a slice of its table as it is now.
pub(crate) fn is_misplaced(definition: &TableDefinition, entry: &ChunkEntry) -> bool {
    let slice = definition.slice_of(entry.time_min);
    definition.time.is_some() && (entry.slice_start != slice.start || !slice.contains(entry.time_max))
}

/// Cuts up to so many misplaced chunks of a table anew; how many it were. Damage of one does not stop the others.
pub(crate) fn reslice(
    shared: &Arc<Shared>,
    table: TableId,
    chunks_max: usize,
    order: Order,
) -> Result<(usize, Option<Error>)> {
    let (snapshot, mut done, mut damage) = (ReadSnapshot::take(shared)?, 0, None);
    let Some(table) = snapshot.table_by_id(table) else { return Ok((0, None)) };
    let entries = snapshot.inner.store.chunks(table.id, TimeRange::ALL)?;
    let misplaced = entries.iter().filter(|entry| is_misplaced(&table.definition, entry));
    for entry in misplaced.take(chunks_max) {
        match reslice_chunk(shared, &snapshot, table, entry, order) {
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
    order: Order,
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
    let _sealing = shared.holds.pass(order, shared.environment.uptime())?;
    shared.commit(change, &[]).map_err(Refused::into_error)?;
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
        None => missing_array(table, column, entry.row_count as usize),
    };
    let arrays = arrays.into_iter().zip(&columns).map(fill).collect::<Result<Vec<_>>>()?;
    let field = |column: &&Column| Field::new(&column.name, stored_type(column), column.nullable);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    RecordBatch::try_new(schema, arrays).map_err(internal)
}
