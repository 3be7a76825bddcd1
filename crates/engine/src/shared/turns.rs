//! Turns: of those in this process that commit rows with keys to a table one goes after the other. Each would find the
//! store changed by the other, and have to look again. Between processes the commit's guard decides.

use atsdb_core::TableId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The turns of each table.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    tables: Mutex<HashMap<TableId, Arc<Mutex<()>>>>,
}

impl Turns {
    /// The turn of a table. Who wants several locks them in the order of the tables' numbers.
    pub(crate) fn of(&self, table: TableId) -> Arc<Mutex<()>> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(tables.entry(table).or_default())
    }
}
