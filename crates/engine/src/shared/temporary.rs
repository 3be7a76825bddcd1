//! The temporary tables and views of one session: definitions that no store holds, with rows in the memory of this
//! process; and the session's search path.
//!
//! Their numbers are negative, which those of a store never are. Their rows are in the process's registry of tables in
//! memory, where no other session looks up their numbers. A batch works on a copy of the list, which replaces it with
//! the batch's commit. So a rollback, also to a savepoint, needs no further code.

use crate::shared::handle::Handle;
use atsdb_core::name::same_name;
use atsdb_core::{DefinitionVersion, Error, InMemory, Result, SearchPath, Table, TableDefinition, TableId};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The last number given to a temporary table of this process.
static LAST_NUMBER: AtomicI64 = AtomicI64::new(0);

/// The effect of a commit on a temporary table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnCommit {
    /// Its rows stay.
    #[default]
    PreserveRows,
    /// Its rows are removed.
    DeleteRows,
    /// It is dropped.
    Drop,
}

/// A temporary table or view.
#[derive(Debug, Clone)]
pub(crate) struct TemporaryTable {
    pub(crate) table: Table,
    pub(crate) on_commit: OnCommit,
}

/// The temporary tables and views of one session, and its search path. Clones are the same session. The rows disappear
/// with the last clone, and with the last batch that works on them.
#[derive(Clone)]
pub struct TemporaryTables(Arc<SessionTables>);

struct SessionTables {
    handle: Handle,
    committed: Mutex<Vec<TemporaryTable>>,
    search_path: Mutex<SearchPath>,
}

impl Drop for SessionTables {
    fn drop(&mut self) {
        for temporary in self.committed.get_mut() {
            self.handle.shared.residents.forget(temporary.table.id);
            self.handle.shared.numbers.forget(temporary.table.id);
        }
    }
}

impl fmt::Debug for TemporaryTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemporaryTables").field("count", &self.0.committed.lock().len()).finish_non_exhaustive()
    }
}

impl TemporaryTables {
    pub(crate) fn new(handle: Handle) -> Self {
        Self(Arc::new(SessionTables { handle, committed: Mutex::default(), search_path: Mutex::default() }))
    }

    /// Returns whether a table is temporary.
    pub fn contain(table: &Table) -> bool {
        is_temporary(table.id)
    }

    /// Returns whether the session has no temporary tables.
    pub fn is_empty(&self) -> bool {
        self.0.committed.lock().is_empty()
    }

    /// The tables and views.
    pub fn tables(&self) -> Vec<Table> {
        self.0.committed.lock().iter().map(|temporary| temporary.table.clone()).collect()
    }

    /// The session's search path.
    pub fn search_path(&self) -> SearchPath {
        self.0.search_path.lock().clone()
    }

    /// Sets the session's search path.
    pub fn set_search_path(&self, path: SearchPath) {
        *self.0.search_path.lock() = path;
    }

    pub(crate) fn committed(&self) -> Vec<TemporaryTable> {
        self.0.committed.lock().clone()
    }

    pub(crate) fn replace(&self, tables: Vec<TemporaryTable>) {
        *self.0.committed.lock() = tables;
    }
}

/// Returns whether this is the number of a temporary table.
pub(crate) fn is_temporary(id: TableId) -> bool {
    id.0 < 0
}

impl TemporaryTable {
    /// Creates a temporary table or view with this definition. A table is in memory, even if the definition does not
    /// declare it.
    pub(crate) fn new(definition: &TableDefinition, on_commit: OnCommit) -> Result<Self> {
        let mut definition = definition.clone();
        if definition.view.is_none() && definition.memory.is_none() {
            definition.memory = Some(InMemory { bytes_max: None });
        }
        definition.check()?;
        let id = TableId(LAST_NUMBER.fetch_sub(1, Ordering::Relaxed) - 1);
        Ok(Self { table: Table { id, version: DefinitionVersion(1), definition }, on_commit })
    }
}

/// Refuses the name of another temporary table.
pub(crate) fn check_name(tables: &[TemporaryTable], own: Option<TableId>, name: &str) -> Result<()> {
    let is_other = |other: &&TemporaryTable| Some(other.table.id) != own;
    match tables.iter().filter(is_other).find(|other| same_name(&other.table.definition.name, name)) {
        Some(other) => Err(atsdb_core::refusal::table_exists(&other.table.definition.name)),
        None => Ok(()),
    }
}

/// The error for a temporary table that no longer exists.
pub(crate) fn gone(table: &Table) -> Error {
    Error::not_found(format!("table {} was dropped", table.definition.name))
}
