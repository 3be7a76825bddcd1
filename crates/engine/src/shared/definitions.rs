//! Changing definitions of tables: the newest definition that this process has seen of each table, and whether rows
//! made under an older one can be kept.
//!
//! A definition that a caller holds may be out of date at any time, and correctness does not depend on it. A change
//! names the version of every definition that it was made under. If one has changed, the store refuses the change in
//! the same transaction, and the work is repeated under the present definition. This file only makes that rare, and
//! decides when rows need not be rebuilt.

use crate::chunk::missing::missing_array;
use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use atsdb_codec::stored_type;
use atsdb_core::{Column, Error, ErrorKind, Result, Table, TableDefinition, TableId};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

/// The newest definition of each table that this process has seen.
#[derive(Default)]
pub(crate) struct Definitions {
    newest: RwLock<HashMap<TableId, Arc<Table>>>,
}

impl Definitions {
    /// Notes the tables of a snapshot or commit.
    pub(crate) fn note(&self, tables: &[Table]) {
        let newest = self.newest.read();
        let is_newer = |table: &&Table| newest.get(&table.id).is_none_or(|known| known.version < table.version);
        let news: Vec<&Table> = tables.iter().filter(is_newer).collect();
        if news.is_empty() {
            return;
        }
        drop(newest);
        let mut newest = self.newest.write();
        for table in news {
            let known = newest.entry(table.id).or_insert_with(|| Arc::new(table.clone()));
            if known.version < table.version {
                *known = Arc::new(table.clone());
            }
        }
    }

    /// The newest definition of the table that was seen, if it is newer than this one.
    pub(crate) fn newer_than(&self, table: &Table) -> Option<Arc<Table>> {
        let newest = self.newest.read();
        newest.get(&table.id).filter(|known| known.version > table.version).cloned()
    }

    /// The newest definition that was seen of the table with this name in a schema; `None` is `public`. It may be out
    /// of date, and the table may have been renamed or dropped.
    pub(crate) fn named(&self, schema: Option<&str>, name: &str) -> Option<Arc<Table>> {
        let newest = self.newest.read();
        let named = newest.values().filter(|table| !table.definition.is_hidden());
        named.filter(|table| table.definition.is_named(schema, name)).max_by_key(|table| table.id).cloned()
    }

    /// Forgets a table that was dropped, or a definition that is out of date.
    pub(crate) fn forget(&self, table: TableId) {
        self.newest.write().remove(&table);
    }
}

/// The error for work that was done under a definition that has changed.
pub(crate) fn changed_meanwhile(table: &TableDefinition) -> Error {
    let message = format!("the definition of table {} was changed by another writer", table.name);
    Error::new(ErrorKind::Conflict, message).with_hint("nothing was stored; look the table up again and retry")
}

/// Returns whether chunks encoded under an older definition are valid under the newer one. They are if a column was
/// added, widened, renamed or dropped. They are not if a key, a CHECK, a foreign key, a NOT NULL or a length of texts
/// was added, as their rows were not checked for it, or if a [copy](has_same_numbers) has replaced the table.
pub(crate) fn takes_rows_of(new: &TableDefinition, old: &TableDefinition) -> bool {
    let variety = |definition: &TableDefinition| {
        let has_query = [definition.view.is_some(), definition.rollup.is_some(), definition.materialized.is_some()];
        (definition.memory.is_some(), has_query)
    };
    let takes = |column: &Column| match old.column_by_id(column.id) {
        Some(before) => {
            (column.nullable || !before.nullable)
                && column.map.is_some() == before.map.is_some()
                && column.map >= before.map
                && has_labels_of(column, before)
        }
        None => column.nullable || column.missing.is_some(),
    };
    variety(new) == variety(old)
        && has_same_numbers(new, old)
        && new.time == old.time
        && new.unique == old.unique
        && new.checks_added_to(old).is_empty()
        && new.foreign_keys_added_to(old).is_empty()
        && new.lengths_added_to(old).is_empty()
        && new.columns.iter().all(takes)
}

/// Returns whether numbers mean the same columns and indexes in two definitions of a table. A copy of an older state
/// may have replaced the table in between, and later columns and indexes then get numbers that others had before. Each
/// copy leaves another [`Origin`](atsdb_core::Origin).
pub(crate) fn has_same_numbers(one: &TableDefinition, other: &TableDefinition) -> bool {
    one.origin == other.origin
}

/// Returns whether each value of a column of an enumerated type is one of the column as it is now.
fn has_labels_of(now: &Column, before: &Column) -> bool {
    match (&now.enumeration, &before.enumeration) {
        (Some(now), Some(before)) => before.labels.iter().all(|label| now.rank(label).is_some()),
        (now, _) => now.is_none(),
    }
}

/// Converts columns in stored form from an older definition to a newer one: columns are matched by number and widened,
/// dropped columns are left out, and new columns get their value of older rows.
///
/// Errors: [`Conflict`](atsdb_core::ErrorKind::Conflict) if a column takes no NULL now, or if a copy has replaced the
/// table.
pub(crate) fn carry(
    old: &TableDefinition,
    new: &Table,
    columns: Vec<ArrayRef>,
    row_count: usize,
) -> Result<Vec<ArrayRef>> {
    if *old == new.definition {
        return Ok(columns);
    }
    if !has_same_numbers(old, &new.definition) {
        return Err(changed_meanwhile(old));
    }
    let carried = |column: &Column| -> Result<ArrayRef> {
        let Some(position) = old.columns.iter().position(|before| before.id == column.id) else {
            return missing_array(&new.definition, column, row_count);
        };
        let array = cast(&columns[position], &stored_type(column))?;
        match !column.nullable && array.null_count() > 0 {
            true => Err(changed_meanwhile(old)),
            false => Ok(array),
        }
    };
    new.definition.columns.iter().map(carried).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::{
        Check, ColumnType, DefinitionVersion, Enumeration, MapWidth, Origin, QualifiedName, TimeUnit, Unique,
    };

    fn readings() -> TableDefinition {
        let definition = TableDefinition::new("readings")
            .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
            .with_column("sensor", ColumnType::Text, Some(MapWidth::U8));
        definition.with_time("time", TimeUnit::Second).unwrap()
    }

    #[test]
    fn rows_stay_where_a_column_came_went_or_became_wider() {
        let old = readings();
        let mut wider = old.clone().with_column("value", ColumnType::Float64, None);
        wider.columns[1].map = Some(MapWidth::U16);
        assert!(takes_rows_of(&wider, &old));
        assert!(takes_rows_of(&old, &old.clone().with_column("dropped", ColumnType::Int64, None)));
        assert!(!takes_rows_of(&old, &wider), "an index may be too large for the narrower map");
    }

    #[test]
    fn rows_stay_where_an_enumerated_type_got_labels_and_not_where_it_lost_one() {
        let with = |labels: &[&str]| {
            let mut definition = readings().with_column("mood", ColumnType::Text, Some(Enumeration::MAP));
            let labels = labels.iter().map(|label| (*label).to_owned()).collect();
            let type_name = QualifiedName { schema: None, name: "mood".to_owned() };
            definition.columns[2].enumeration = Some(Enumeration { type_name, labels });
            definition
        };
        assert!(takes_rows_of(&with(&["angry", "sad", "ok"]), &with(&["sad", "ok"])));
        assert!(!takes_rows_of(&with(&["blue", "ok"]), &with(&["sad", "ok"])));
    }

    #[test]
    fn rows_are_made_again_where_something_was_not_checked() {
        let old = readings();
        let mut strict = old.clone();
        strict.columns[1].nullable = false;
        assert!(!takes_rows_of(&strict, &old));
        let mut keyed = old.clone();
        keyed.unique.push(Unique::new(vec![keyed.columns[1].id]));
        assert!(!takes_rows_of(&keyed, &old));
        let mut checked = old.clone();
        let columns = vec![checked.columns[1].id];
        checked.checks.push(Check { name: "c".into(), condition: "sensor <> ''".into(), columns, not_valid: false });
        assert!(!takes_rows_of(&checked, &old));
        assert!(takes_rows_of(&old, &checked));
        let mut added = old.clone().with_column("count", ColumnType::Int64, None);
        added.columns[2].nullable = false;
        assert!(!takes_rows_of(&added, &old));
    }

    #[test]
    fn rows_are_made_again_where_a_copy_has_replaced_the_table() {
        let (store, from, to, fingerprint) = ("0f".repeat(16), None, None, Some(1));
        let origin = Origin { store, table: TableId(7), copied_ms: 5, from, to, later_copies: 0, fingerprint };
        let old = readings();
        let copied = TableDefinition { origin: Some(origin), ..old.clone() };
        assert!(!takes_rows_of(&copied, &old) && !takes_rows_of(&old, &copied));
        assert!(takes_rows_of(&copied, &copied));
        // The same state was copied again.
        let mut again = copied.clone();
        again.origin.iter_mut().for_each(|origin| origin.later_copies = 1);
        assert!(!takes_rows_of(&again, &copied));
        let table = Table { id: TableId(1), version: DefinitionVersion(2), definition: copied };
        assert_eq!(carry(&old, &table, Vec::new(), 0).unwrap_err().kind(), ErrorKind::Conflict);
    }
}
