//! Creating, dropping and looking up tables.

use crate::open_stage;
use crate::state::{StoreState, StoredTable};
use atsdb_core::name::same_name;
use atsdb_core::refusal;
use atsdb_core::{DefinitionVersion, Result, StageId, Table, TableDefinition, TableId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Tables = BTreeMap<TableId, Arc<StoredTable>>;

/// Tables that a change drops before it does anything else.
pub(crate) type DroppedTables = BTreeSet<TableId>;

/// Adds a table that was checked. A staged table is only visible in its stage. It is compared with the visible tables
/// when the stage is committed, since its name may be free by then.
pub(crate) fn create(state: &mut StoreState, definition: &TableDefinition, stage: Option<StageId>) -> Result<Table> {
    match stage {
        Some(stage) => check_name_is_free(&open_stage::require(state, stage)?.tables, &definition.name)?,
        None => check_name_is_free(&state.view.tables, &definition.name)?,
    }
    state.table_last += 1;
    let id = TableId(state.table_last);
    let stored = Arc::new(StoredTable {
        version: DefinitionVersion::FIRST,
        definition: definition.clone(),
        chunks: BTreeMap::new(),
        dictionaries: Arc::default(),
        counters: Arc::default(),
    });
    match stage {
        Some(stage) => open_stage::require(state, stage)?.tables.insert(id, stored),
        None => state.view_mut().tables.insert(id, stored),
    };
    Ok(Table::new(id, definition.clone()))
}

fn check_name_is_free(tables: &Tables, name: &str) -> Result<()> {
    match tables.values().any(|table| same_name(&table.definition.name, name)) {
        true => Err(refusal::table_exists(name)),
        false => Ok(()),
    }
}

/// Drops a table, or refuses one that does not exist.
pub(crate) fn drop(state: &mut StoreState, table: TableId) -> Result<()> {
    require(state, table, &DroppedTables::new())?;
    remove(state, table);
    Ok(())
}

/// Drops an existing table. Its chunks in open stages stay, so that their commit detects it.
pub(crate) fn remove(state: &mut StoreState, table: TableId) {
    let view = state.view_mut();
    view.tables.remove(&table);
    view.chunks.retain(|_, chunk| chunk.entry.table != table);
}

/// Returns a visible table that is not among the dropped ones.
pub(crate) fn require<'a>(state: &'a StoreState, table: TableId, dropped: &DroppedTables) -> Result<&'a StoredTable> {
    let stored = state.view.tables.get(&table).filter(|_| !dropped.contains(&table));
    stored.map(Arc::as_ref).ok_or_else(|| refusal::no_table(table))
}
