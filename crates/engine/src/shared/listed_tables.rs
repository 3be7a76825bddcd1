//! The tables of a store as snapshots list them. Snapshots that see the same tables share one list: a list is large if
//! there are many tables, and most statements read only one of them.

use atsdb_core::{Result, Snapshot, Table, TablesRecord};
use parking_lot::Mutex;
use std::sync::Arc;

/// The tables of a store, by number.
#[derive(Debug, Clone)]
pub(crate) struct ListedTables {
    /// Those that users see.
    pub(crate) shown: Arc<[Table]>,
    /// Those that are hidden from users.
    pub(crate) hidden: Arc<[Table]>,
}

/// The tables that were listed last, with their list's integrity record.
#[derive(Debug, Default)]
pub(crate) struct LastListedTables(Mutex<Option<(TablesRecord, ListedTables)>>);

impl LastListedTables {
    /// The tables that a snapshot sees. They are only read if they differ from those that were listed last.
    pub(crate) fn of(&self, snapshot: &dyn Snapshot) -> Result<ListedTables> {
        let recorded = snapshot.tables_recorded()?;
        if let Some((last, listed)) = &*self.0.lock()
            && recorded == Some(*last)
        {
            return Ok(listed.clone());
        }
        let (hidden, shown): (Vec<Table>, Vec<Table>) =
            snapshot.tables()?.into_iter().partition(|table| table.definition.is_hidden());
        let listed = ListedTables { shown: shown.into(), hidden: hidden.into() };
        if let Some(recorded) = recorded {
            *self.0.lock() = Some((recorded, listed.clone()));
        }
        Ok(listed)
    }
}
