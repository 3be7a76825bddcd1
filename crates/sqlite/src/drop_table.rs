//! Dropping a table with its chunks.

use crate::error::Attempt;
use crate::writer::WriteTransaction;
use crate::{chunk_write, counter, list_rows, table};
use atsdb_core::TableId;
use atsdb_core::refusal;

/// Drops a table. `reclaim` deletes its mappings and pages later. Its chunks in open stages stay, so that their commit
/// detects it.
pub(crate) fn drop_table(connection: &WriteTransaction<'_>, id: TableId) -> Attempt<()> {
    if !table::delete(connection, id, None)? {
        return Err(refusal::no_table(id).into());
    }
    counter::forget(connection, id)?;
    chunk_write::discard(connection, "table_id = ?1 AND stage IS NULL", [id.0])?;
    list_rows::forget_table(connection, id)
}
