//! Definitions of tables as they change: the newest one that this process has seen of each table, and what rows that
//! were made under an older one may become.
//!
//! A table in somebody's hand may be out of date at any time. Nothing relies on it: a change names the version of every
//! definition that it was made under, the store refuses it in the same transaction when one has changed, and the work is
//! redone under the present definition. What is owned here only makes that rare, and says when rows need not be made
//! again.

use crate::chunk::missing::missing_array;
use crate::chunk::slice_buffer::internal;
use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use atsdb_codec::stored_type;
use atsdb_core::{Column, Error, ErrorKind, Result, Table, TableDefinition, TableId};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The newest definition of each table that this process has seen.
#[derive(Default)]
pub(crate) struct Definitions {
    newest: RwLock<HashMap<TableId, Arc<Table>>>,
}

impl Definitions {
    /// Notes tables as a snapshot or a commit has them.
    pub(crate) fn note(&self, tables: &[Table]) {
        let newest = self.newest.read().unwrap_or_else(PoisonError::into_inner);
        let is_newer = |table: &&Table| newest.get(&table.id).is_none_or(|known| known.version < table.version);
        let news: Vec<&Table> = tables.iter().filter(is_newer).collect();
        if news.is_empty() {
            return;
        }
        drop(newest);
        let mut newest = self.newest.write().unwrap_or_else(PoisonError::into_inner);
        for table in news {
            let known = newest.entry(table.id).or_insert_with(|| Arc::new(table.clone()));
            if known.version < table.version {
                *known = Arc::new(table.clone());
            }
        }
    }

    /// A newer definition of the table than this one, if one was seen.
    pub(crate) fn newer_than(&self, table: &Table) -> Option<Arc<Table>> {
        let newest = self.newest.read().unwrap_or_else(PoisonError::into_inner);
        newest.get(&table.id).filter(|known| known.version > table.version).cloned()
    }

    /// Forgets a table that was dropped.
    pub(crate) fn forget(&self, table: TableId) {
        self.newest.write().unwrap_or_else(PoisonError::into_inner).remove(&table);
    }
}

/// The error for work that was done under a definition that has changed.
pub(crate) fn changed_meanwhile(table: &TableDefinition) -> Error {
    let message = format!("the definition of table {} was changed by another writer", table.name);
    Error::new(ErrorKind::Conflict, message).with_hint("nothing was stored; look the table up again and retry")
}

/// Whether rows that were encoded under an older definition are rows of the newer one as they are: chunks keep their
/// pages when a column is added, widened, renamed or dropped, but a key or a NOT NULL that came meanwhile was not
/// checked.
pub(crate) fn takes_rows_of(new: &TableDefinition, old: &TableDefinition) -> bool {
    let kind = |definition: &TableDefinition| {
        [definition.memory.is_some(), definition.view.is_some(), definition.rollup.is_some()]
    };
    let takes = |column: &Column| match old.column_by_id(column.id) {
        Some(before) => {
            (column.nullable || !before.nullable)
                && column.map.is_some() == before.map.is_some()
                && column.map >= before.map
        }
        None => column.nullable || column.missing.is_some(),
    };
    kind(new) == kind(old) && new.time == old.time && new.unique == old.unique && new.columns.iter().all(takes)
}

/// Columns in stored form under an older definition, as the newer one has them: by number, widened, without those that
/// are gone, and with what older rows have in those that came.
pub(crate) fn carry(
    old: &TableDefinition,
    new: &Table,
    columns: Vec<ArrayRef>,
    row_count: usize,
) -> Result<Vec<ArrayRef>> {
    if *old == new.definition {
        return Ok(columns);
    }
    let carried = |column: &Column| -> Result<ArrayRef> {
        let Some(position) = old.columns.iter().position(|before| before.id == column.id) else {
            return missing_array(new, column, row_count);
        };
        let array = cast(&columns[position], &stored_type(column)).map_err(internal)?;
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
    use atsdb_core::{ColumnType, MapWidth, TimeUnit, Unique};

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
        assert!(takes_rows_of(&old, &old.clone().with_column("gone", ColumnType::Int64, None)));
        assert!(!takes_rows_of(&old, &wider), "an index may be too large for the narrower map");
    }

    #[test]
    fn rows_are_made_again_where_something_was_not_checked() {
        let old = readings();
        let mut strict = old.clone();
        strict.columns[1].nullable = false;
        assert!(!takes_rows_of(&strict, &old));
        let mut keyed = old.clone();
        keyed.unique.push(Unique { name: None, columns: vec![keyed.columns[1].id], primary: false });
        assert!(!takes_rows_of(&keyed, &old));
        let mut added = old.clone().with_column("count", ColumnType::Int64, None);
        added.columns[2].nullable = false;
        assert!(!takes_rows_of(&added, &old));
    }
}
