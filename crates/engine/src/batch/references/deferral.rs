//! Decides which foreign keys are checked when the transaction ends. Not owned: the checks (`postponed`).

use atsdb_core::name::name_key;
use atsdb_core::{ForeignKey, Initially, TableId};
use std::collections::BTreeMap;

/// The settings of `SET CONSTRAINTS` in a transaction.
#[derive(Clone, Default)]
pub(crate) struct Deferral {
    /// Whether all deferrable foreign keys are deferred; `None` unless `SET CONSTRAINTS ALL` was executed.
    all: Option<bool>,
    /// Whether single foreign keys are deferred, by table and [`name_key`]. These settings override `all`.
    named: BTreeMap<(TableId, String), bool>,
}

impl Deferral {
    /// Sets whether foreign keys are deferred: some, given as their tables and names, or all.
    pub(crate) fn set(&mut self, keys: Option<&[(TableId, String)]>, is_deferred: bool) {
        match keys {
            Some(keys) => {
                let named = keys.iter().map(|(table, name)| ((*table, name_key(name)), is_deferred));
                self.named.extend(named);
            }
            None => *self = Self { all: Some(is_deferred), named: BTreeMap::new() },
        }
    }

    /// Returns whether a foreign key of a table is checked when the transaction ends.
    pub(crate) fn defers(&self, child: TableId, key: &ForeignKey) -> bool {
        let Some(initially) = key.deferrable else { return false };
        let named = self.named.get(&(child, name_key(&key.name))).copied();
        named.or(self.all).unwrap_or(initially == Initially::Deferred)
    }
}
