//! The change log of a table with rollups: the times in which rows were removed or changed. *Added* rows need no log:
//! fresh chunks have increasing numbers, and a rollup stores the number up to which it has accounted for them. But a
//! chunk that is rewritten or removed leaves no trace, and a sealed one gets a new number. So every commit that removes
//! a chunk adds a small chunk with its times to the log; sealing does so only for chunks that a rollup has not
//! accounted for yet. Adding to the log never conflicts with another writer. Retention logs nothing: the rows that it
//! drops stay in the rollups.

use crate::chunk::encode::encode_fresh;
use crate::chunk::slice_buffer::ChunkRows;
use crate::chunk::times::Times;
use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use atsdb_core::{ChunkUid, ColumnType, NewChunk, Result, Slice, TableDefinition, TableId};
use std::sync::Arc;

/// The definition of a table's change log.
pub(crate) fn log_definition(table: TableId) -> TableDefinition {
    let name = format!("changes of table {} for its rollups", table.0);
    let definition = TableDefinition::new(name).with_column("first", ColumnType::Int64, None).with_column(
        "last",
        ColumnType::Int64,
        None,
    );
    TableDefinition { logs: Some(table), ..definition }
}

/// A chunk of the log that holds these times.
pub(crate) fn log_chunk(uid: ChunkUid, log: TableId, table: TableId, times: &[Times]) -> Result<NewChunk> {
    let column = |part: fn(&Times) -> i64| -> ArrayRef { Arc::new(times.iter().map(part).collect::<Int64Array>()) };
    let columns = [("first", column(|times| times.0)), ("last", column(|times| times.1))];
    let rows = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)));
    let rows = ChunkRows { rows: rows?, slice: Slice::PLAIN, time_min: 0, time_max: 0 };
    encode_fresh(log, &log_definition(table), uid, &rows)
}
