//! Changing the definitions of tables.

use crate::state::StoreState;
use crate::table::{self, DroppedTables};
use atsdb_core::name::name_key;
use atsdb_core::redefinition::last_definitions;
use atsdb_core::refusal;
use atsdb_core::{Redefinition, Result, TableDefinition, TableId};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// New definitions, by table.
pub(crate) type Definitions<'a> = BTreeMap<TableId, &'a TableDefinition>;

/// Refuses definitions that cannot be applied. Names may be swapped: only the final names must be unique.
pub(crate) fn check<'a>(
    state: &StoreState,
    redefinitions: &'a [Redefinition],
    dropped: &DroppedTables,
) -> Result<Definitions<'a>> {
    let stored = |table| table::require(state, table, dropped).map(|stored| &stored.definition);
    let last = last_definitions(redefinitions, stored)?;
    let mut names = HashSet::new();
    let others = state.view.tables.iter().filter(|(id, _)| !dropped.contains(id) && !last.contains_key(id));
    names.extend(others.map(|(_, stored)| name_key(&stored.definition.name)).filter(|_| !last.is_empty()));
    match last.values().find(|definition| !names.insert(name_key(&definition.name))) {
        Some(definition) => Err(refusal::table_exists(&definition.name)),
        None => Ok(last),
    }
}

/// Applies the new definitions of existing tables.
pub(crate) fn redefine(state: &mut StoreState, redefinitions: &[Redefinition]) {
    let last: BTreeMap<TableId, &TableDefinition> =
        redefinitions.iter().map(|Redefinition { table, to, .. }| (*table, to)).collect();
    for (table, to) in last {
        if let Some(stored) = state.view_mut().tables.get_mut(&table) {
            let stored = Arc::make_mut(stored);
            (stored.version, stored.definition) = (stored.version.next(), to.clone());
        }
    }
}
