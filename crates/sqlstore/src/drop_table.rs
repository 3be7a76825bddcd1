//! Dropping a table with its chunks.

use crate::connection::Connection;
use crate::error::Attempt;
use crate::{chunk_write, counter, list_rows, table};
use atsdb_core::TableId;
use atsdb_core::refusal;

/// Drops a table. `reclaim` deletes its mappings and pages later. Its chunks in open stages stay, so that their commit
/// detects it. The caller holds the change lock.
pub(crate) fn drop_table(connection: &mut dyn Connection, id: TableId) -> Attempt<()> {
    if !table::delete(connection, id, None)? {
        return Err(refusal::no_table(id).into());
    }
    table::record_dropped(connection, id)?;
    counter::forget(connection, id)?;
    chunk_write::discard(connection, "stage = 0 AND table_id = $1", &[id.0.into()])?;
    list_rows::forget_table(connection, id)
}
