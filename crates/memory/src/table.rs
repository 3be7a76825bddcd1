//! Tables: creating, dropping, and asking whether one is there.

use crate::open_stage;
use crate::state::{State, StoredTable};
use atsdb_core::name::same_name;
use atsdb_core::{DefinitionVersion, Error, ErrorKind, Result, StageId, Table, TableDefinition, TableId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Tables = BTreeMap<TableId, Arc<StoredTable>>;

/// Tables that a change takes away before it does anything else.
pub(crate) type Gone = BTreeSet<TableId>;

/// Adds a table that was checked; a staged one is seen only by its stage, and meets the visible ones when that is
/// committed: what has the name now may be gone then.
pub(crate) fn create(state: &mut State, definition: &TableDefinition, stage: Option<StageId>) -> Result<Table> {
    match stage {
        Some(stage) => refuse_name(&open_stage::require(state, stage)?.tables, &definition.name)?,
        None => refuse_name(&state.view.tables, &definition.name)?,
    }
    state.table_last += 1;
    let id = TableId(state.table_last);
    let stored = Arc::new(StoredTable {
        version: DefinitionVersion::FIRST,
        definition: definition.clone(),
        chunks: BTreeMap::new(),
        dictionaries: Arc::default(),
    });
    match stage {
        Some(stage) => open_stage::require(state, stage)?.tables.insert(id, stored),
        None => state.view_mut().tables.insert(id, stored),
    };
    Ok(Table::new(id, definition.clone()))
}

fn refuse_name(tables: &Tables, name: &str) -> Result<()> {
    match tables.values().any(|table| same_name(&table.definition.name, name)) {
        true => Err(exists(name)),
        false => Ok(()),
    }
}

/// A table of that name is there already.
pub(crate) fn exists(name: &str) -> Error {
    Error::new(ErrorKind::Exists, format!("there is a table {name} already"))
}

/// Takes a table away, or refuses one that is not there.
pub(crate) fn drop(state: &mut State, table: TableId) -> Result<()> {
    require(state, table, &Gone::new())?;
    remove(state, table);
    Ok(())
}

/// Takes a table away that is there. Chunks of open stages are left, so that their commit finds out.
pub(crate) fn remove(state: &mut State, table: TableId) {
    let view = state.view_mut();
    view.tables.remove(&table);
    view.chunks.retain(|_, chunk| chunk.entry.table != table);
}

/// A visible table that is not among those that go.
pub(crate) fn require<'a>(state: &'a State, table: TableId, gone: &Gone) -> Result<&'a StoredTable> {
    let stored = state.view.tables.get(&table).filter(|_| !gone.contains(&table));
    stored.map(Arc::as_ref).ok_or_else(|| missing(table))
}

/// The error for a table that is not there.
pub(crate) fn missing(table: TableId) -> Error {
    Error::not_found(format!("there is no table number {}; it was dropped", table.0))
}
