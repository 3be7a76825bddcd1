//! Dropping a table with its chunks.

use crate::connection::Connection;
use crate::error::Attempt;
use crate::{chunk_write, list_rows, table};
use atsdb_core::TableId;

/// Takes a table away. Its mappings and pages wait for `reclaim`; chunks of open stages are left, so that their
/// commit finds out. The caller holds the change lock.
pub(crate) fn drop_table(connection: &mut dyn Connection, id: TableId) -> Attempt<()> {
    if !table::delete(connection, id, None)? {
        return Err(table::missing(id).into());
    }
    table::note_dropped(connection, id)?;
    chunk_write::discard(connection, "stage = 0 AND table_id = $1", &[id.0.into()])?;
    list_rows::forget_table(connection, id)
}
