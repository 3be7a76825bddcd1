//! Commit locks: commits of rows with keys to one table run one after the other in this process. Otherwise each would
//! find the store changed by another and have to check its keys again. Between processes the commit's guard decides.

use atsdb_core::TableId;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// One lock for each table.
#[derive(Debug, Default)]
pub(crate) struct CommitLocks {
    tables: Mutex<HashMap<TableId, Arc<Mutex<()>>>>,
}

impl CommitLocks {
    /// The lock of a table. A caller that needs several takes them in the order of the tables' numbers.
    pub(crate) fn of(&self, table: TableId) -> Arc<Mutex<()>> {
        Arc::clone(self.tables.lock().entry(table).or_default())
    }
}
