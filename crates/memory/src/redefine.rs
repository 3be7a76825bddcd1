//! Changing the definitions of tables.

use crate::state::State;
use crate::table::{self, Gone};
use atsdb_core::name::name_key;
use atsdb_core::{Error, ErrorKind, Redefinition, Result, TableDefinition, TableId};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// What tables become, by number.
pub(crate) type Definitions<'a> = BTreeMap<TableId, &'a TableDefinition>;

/// Refuses definitions that cannot be given. Names may be exchanged: what counts is who has which in the end.
pub(crate) fn check<'a>(state: &State, redefinitions: &'a [Redefinition], gone: &Gone) -> Result<Definitions<'a>> {
    let mut last = Definitions::new();
    for Redefinition { table, from, to } in redefinitions {
        to.check()?;
        let stored = table::require(state, *table, gone)?;
        if *last.get(table).copied().unwrap_or(&stored.definition) != *from {
            let message = format!("table {} was changed by another writer", from.name);
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        last.insert(*table, to);
    }
    let mut names = HashSet::new();
    let others = state.view.tables.iter().filter(|(id, _)| !gone.contains(id) && !last.contains_key(id));
    names.extend(others.map(|(_, stored)| name_key(&stored.definition.name)).filter(|_| !last.is_empty()));
    match last.values().find(|definition| !names.insert(name_key(&definition.name))) {
        Some(definition) => Err(table::exists(&definition.name)),
        None => Ok(last),
    }
}

/// Gives tables that are there their new definitions.
pub(crate) fn redefine(state: &mut State, redefinitions: &[Redefinition]) {
    let last: BTreeMap<TableId, &TableDefinition> =
        redefinitions.iter().map(|Redefinition { table, to, .. }| (*table, to)).collect();
    for (table, to) in last {
        if let Some(stored) = state.view_mut().tables.get_mut(&table) {
            let stored = Arc::make_mut(stored);
            (stored.version, stored.definition) = (stored.version.next(), to.clone());
        }
    }
}
