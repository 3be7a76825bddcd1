//! The greatest values that this process has seen in the growing columns of keys. Rows may have been removed since, so
//! a greater value is new, while a smaller one may be new, too.

use atsdb_core::{ChunkId, DefinitionVersion, TableId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// A moment in this process. Each is later than those that were returned before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

/// The greatest values of each table that a batch has examined.
#[derive(Debug, Default)]
pub(crate) struct GreatestKeys {
    moments: AtomicU64,
    tables: Mutex<HashMap<TableId, GreatestKey>>,
}

/// The greatest values of one table.
#[derive(Debug, Clone)]
pub(crate) struct GreatestKey {
    /// The version of the definition that declares the keys.
    pub(crate) version: DefinitionVersion,
    /// All chunks up to this number were considered, except for those that had been removed.
    pub(crate) newest: ChunkId,
    /// The greatest value in the growing column of each key, or the least integer if there is no value; `None` if it is
    /// not known.
    pub(crate) values: Vec<Option<i64>>,
    /// A snapshot that was begun earlier may have chunks that had been removed.
    pub(crate) noted: Moment,
}

impl GreatestKeys {
    /// Returns the present moment.
    pub(crate) fn now(&self) -> Moment {
        Moment(self.moments.fetch_add(1, Ordering::SeqCst))
    }

    /// Returns the greatest keys of a table, as far as they are known.
    pub(crate) fn of(&self, table: TableId) -> Option<GreatestKey> {
        self.tables.lock().get(&table).cloned()
    }

    /// Notes the greatest keys of a table.
    pub(crate) fn note(&self, table: TableId, greatest: GreatestKey) {
        self.tables.lock().insert(table, greatest);
    }

    /// Forgets a table that was dropped.
    pub(crate) fn forget(&self, table: TableId) {
        self.tables.lock().remove(&table);
    }
}
