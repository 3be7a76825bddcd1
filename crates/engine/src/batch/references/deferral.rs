//! Which foreign keys are checked when the transaction ends. Not owned: the checks (`postponed`).

use atsdb_core::name::name_key;
use atsdb_core::{ForeignKey, Initially, TableId};
use std::collections::BTreeMap;

/// What `SET CONSTRAINTS` has said in a transaction.
#[derive(Clone, Default)]
pub(crate) struct Deferral {
    /// Whether all deferrable foreign keys are deferred, if it was said of all.
    all: Option<bool>,
    /// Those of which it was said later.
    named: BTreeMap<(TableId, String), bool>,
}

impl Deferral {
    /// Says it of some foreign keys, given as their tables and names, or of all.
    pub(crate) fn set(&mut self, keys: Option<&[(TableId, String)]>, is_deferred: bool) {
        match keys {
            Some(keys) => {
                let named = keys.iter().map(|(table, name)| ((*table, name_key(name)), is_deferred));
                self.named.extend(named);
            }
            None => *self = Self { all: Some(is_deferred), named: BTreeMap::new() },
        }
    }

    /// Whether a foreign key of a table is checked when the transaction ends.
    pub(crate) fn defers(&self, child: TableId, key: &ForeignKey) -> bool {
        let Some(initially) = key.deferrable else { return false };
        let named = self.named.get(&(child, name_key(&key.name))).copied();
        named.or(self.all).unwrap_or(initially == Initially::Deferred)
    }
}
