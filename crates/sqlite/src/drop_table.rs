//! Dropping a table with its chunks.

use crate::error::Attempt;
use crate::{chunk_write, list_rows, table};
use atsdb_core::TableId;
use rusqlite::Connection;

/// Takes a table away. Its mappings and pages wait for `reclaim`; chunks of open stages are left, so that their
/// commit finds out.
pub(crate) fn drop_table(connection: &Connection, id: TableId) -> Attempt<()> {
    if !table::delete(connection, id, None)? {
        return Err(table::missing(id).into());
    }
    chunk_write::discard(connection, "table_id = ?1 AND stage IS NULL", [id.0])?;
    list_rows::forget_table(connection, id)
}
