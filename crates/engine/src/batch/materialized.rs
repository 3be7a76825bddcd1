//! Materialized views: replacing all rows in one commit.

use crate::batch::Batch;
use atsdb_core::{Error, Result, Table};

impl Batch {
    /// Removes all rows of a materialized view. From then on the batch may append others, to the table that this
    /// returns. The definition notes whether they are the rows of the query (`populated`).
    ///
    /// The definition counts this, and so changes with the commit: of two batches that refresh a view at the same time,
    /// the later one is a [`Conflict`](atsdb_core::ErrorKind::Conflict).
    pub fn refill(&mut self, table: &Table, populated: bool) -> Result<Table> {
        let mut to = table.definition.clone();
        let Some(materialized) = &mut to.materialized else {
            return Err(Error::internal(format!("{} is not a materialized view", table.definition.name)));
        };
        let was_populated = std::mem::replace(&mut materialized.populated, populated);
        materialized.refreshes = materialized.refreshes.saturating_add(1);
        self.changes.note_refreshed(table.id);
        self.truncate(table)?;
        // No other batch sees a table that this one has created.
        if self.changes.has_created(table.id) && was_populated == populated {
            return Ok(table.clone());
        }
        let refilled = self.redefine(table, to)?;
        self.changes.note_refreshed(refilled.id);
        Ok(refilled)
    }
}
