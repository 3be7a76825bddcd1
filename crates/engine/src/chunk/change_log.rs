//! The change log of a table that has rollups: which of its times lost or changed rows.
//!
//! What a table *gains* needs no log: fresh chunks have numbers, and a rollup knows up to which one it accounts. But a
//! chunk that is rewritten or removed leaves nothing behind, and one that is sealed changes its number. So every commit that
//! removes a chunk adds a small chunk to the log that says which times it had; sealing does so only for chunks that a rollup
//! has not accounted for yet. Adding never conflicts with anything. Retention adds nothing: what it drops stays in the
//! rollups.

use crate::chunk::encode::encode_fresh;
use crate::chunk::slice_buffer::{ChunkRows, internal};
use crate::chunk::times::Times;
use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use atsdb_core::{ChunkUid, ColumnType, NewChunk, Result, Slice, TableDefinition, TableId};
use std::sync::Arc;

/// The log of a table.
pub(crate) fn log_definition(table: TableId) -> TableDefinition {
    let name = format!("changes of table {} for its rollups", table.0);
    let definition = TableDefinition::new(name).with_column("first", ColumnType::Int64, None).with_column(
        "last",
        ColumnType::Int64,
        None,
    );
    TableDefinition { logs: Some(table), ..definition }
}

/// A chunk of the log that says these times.
pub(crate) fn log_chunk(uid: ChunkUid, log: TableId, table: TableId, times: &[Times]) -> Result<NewChunk> {
    let column = |part: fn(&Times) -> i64| -> ArrayRef { Arc::new(times.iter().map(part).collect::<Int64Array>()) };
    let columns = [("first", column(|times| times.0)), ("last", column(|times| times.1))];
    let rows = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)));
    let rows = ChunkRows { rows: rows.map_err(internal)?, slice: Slice::PLAIN, time_min: 0, time_max: 0 };
    encode_fresh(log, &log_definition(table), uid, &rows)
}
