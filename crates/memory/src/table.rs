//! Tables: creating, dropping, and asking whether one is there.

use crate::stage;
use crate::state::{State, StoredTable};
use atsdb_core::name::same_name;
use atsdb_core::{Error, ErrorKind, Result, StageId, Table, TableDefinition, TableId};
use std::collections::BTreeMap;
use std::sync::Arc;

type Tables = BTreeMap<TableId, Arc<StoredTable>>;

/// Adds a table that was checked; a staged one is seen only by its stage.
pub(crate) fn create(state: &mut State, definition: &TableDefinition, stage: Option<StageId>) -> Result<Table> {
    refuse_name(&state.view.tables, &definition.name)?;
    if let Some(stage) = stage {
        refuse_name(&stage::require(state, stage)?.tables, &definition.name)?;
    }
    state.table_last += 1;
    let id = TableId(state.table_last);
    let stored =
        Arc::new(StoredTable { definition: definition.clone(), chunks: BTreeMap::new(), dictionaries: Arc::default() });
    match stage {
        Some(stage) => stage::require(state, stage)?.tables.insert(id, stored),
        None => state.view_mut().tables.insert(id, stored),
    };
    Ok(Table { id, definition: definition.clone() })
}

/// Refuses a name that one of the tables has.
pub(crate) fn refuse_name(tables: &Tables, name: &str) -> Result<()> {
    match tables.values().any(|table| same_name(&table.definition.name, name)) {
        true => Err(Error::new(ErrorKind::Exists, format!("there is a table {name} already"))),
        false => Ok(()),
    }
}

/// Takes a table away. Chunks of open stages are left, so that their commit finds out.
pub(crate) fn drop(state: &mut State, table: TableId) -> Result<()> {
    if !state.view.tables.contains_key(&table) {
        return Err(missing(table));
    }
    let view = state.view_mut();
    view.tables.remove(&table);
    view.chunks.retain(|_, chunk| chunk.entry.table != table);
    Ok(())
}

/// The error for a table that is not there.
pub(crate) fn missing(table: TableId) -> Error {
    Error::not_found(format!("there is no table number {}; it was dropped", table.0))
}
