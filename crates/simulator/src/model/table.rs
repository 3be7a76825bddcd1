//! A table as a list of rows.

use crate::compare::SeenTable;
use crate::shape::{self, ColumnKind, kind};
use atsdb_core::{Column, TableDefinition, Unique, Value};
use std::cell::Cell;
use std::collections::BTreeMap;

/// A row. Its number distinguishes it from others with the same values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: u64,
    pub(crate) cells: BTreeMap<u16, Option<i64>>,
    /// Whether it has expired, and may have been dropped.
    pub(crate) may_be_dropped: bool,
}

/// A table.
#[derive(Debug, Clone)]
pub(crate) struct TableModel {
    pub(crate) uid: u64,
    pub(crate) definition: TableDefinition,
    pub(crate) rows: Vec<Row>,
    /// The number of times that rows were added.
    pub(crate) added: u64,
    /// The number of times that chunks may have been replaced.
    pub(crate) rewritten: u64,
    /// The number of times that the definition has changed.
    pub(crate) defined: u64,
}

/// Returns a number for a row or table that no other one has in any state.
pub(crate) fn number() -> u64 {
    thread_local!(static LAST: Cell<u64> = const { Cell::new(0) });
    LAST.with(|last| {
        last.set(last.get() + 1);
        last.get()
    })
}

impl TableModel {
    /// A table without rows.
    pub(crate) fn new(definition: TableDefinition) -> Self {
        Self { uid: number(), definition, rows: Vec::new(), added: 0, rewritten: 0, defined: 0 }
    }

    /// Returns whether its rows are in the memory of processes.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.definition.is_in_memory()
    }

    /// Returns whether it has not been changed since it was in this state.
    pub(crate) fn is_as(&self, before: &Self) -> bool {
        (self.added, self.rewritten, self.defined) == (before.added, before.rewritten, before.defined)
    }

    pub(crate) fn redefine(&mut self, to: TableDefinition) {
        self.definition = to;
        self.defined += 1;
    }

    /// Returns whether a row has NULL in a column that does not allow it.
    pub(crate) fn lacks_value(&self, cells: &BTreeMap<u16, Option<i64>>) -> bool {
        let is_null = |column: &Column| !column.nullable && cells.get(&column.id.0).copied().flatten().is_none();
        self.definition.columns.iter().any(is_null)
    }

    /// Returns whether a row is refused: it has NULL in a column that does not allow it, or violates the CHECK
    /// constraint.
    pub(crate) fn refuses(&self, cells: &BTreeMap<u16, Option<i64>>) -> bool {
        self.lacks_value(cells) || violates(&self.definition, cells)
    }

    /// A row's values, in the order of the columns.
    pub(crate) fn values(&self, row: &Row) -> Vec<Option<i64>> {
        let value = |column: &Column| match row.cells.get(&column.id.0) {
            Some(value) => *value,
            None => match &column.missing {
                Some(Value::Int(missing)) => Some(*missing),
                _ => None,
            },
        };
        self.definition.columns.iter().map(value).collect()
    }

    /// Returns whether the rows read match this table. Also decides which expired rows have been dropped: those
    /// before `dropped_before`.
    pub(crate) fn agrees(&mut self, seen: &SeenTable, dropped_before: i64) -> bool {
        is_same(&self.definition, &seen.definition) && self.has_rows(&seen.rows, dropped_before)
    }

    pub(crate) fn has_names(&self, names: &[String]) -> bool {
        self.definition.columns.iter().map(|column| &column.name).eq(names)
    }

    /// Returns whether these are its rows.
    pub(crate) fn has_rows(&mut self, rows: &[Vec<Option<i64>>], dropped_before: i64) -> bool {
        let time = self.definition.columns.iter().position(|column| kind(column) == ColumnKind::Time);
        let may_be_dropped = |row: &Row, values: &[Option<i64>]| {
            row.may_be_dropped && time.is_some_and(|time| values[time] < Some(dropped_before))
        };
        let shown = |row: &Row| {
            let values = self.values(row);
            (values.clone(), may_be_dropped(row, &values), row.id)
        };
        let mut own: Vec<(Vec<Option<i64>>, bool, u64)> = self.rows.iter().map(shown).collect();
        // Among equal rows, those that must exist come first.
        own.sort();
        let (mut found, mut gone) = (rows.iter().peekable(), Vec::new());
        for (values, may_be_dropped, id) in &own {
            if found.peek() == Some(&values) {
                found.next();
            } else if *may_be_dropped {
                gone.push(*id);
            } else {
                return false;
            }
        }
        if found.next().is_some() {
            return false;
        }
        self.rows.retain(|row| !gone.contains(&row.id));
        self.rows.iter_mut().for_each(|row| row.may_be_dropped = false);
        true
    }

    /// Returns whether two rows have the same key.
    pub(crate) fn has_duplicates(&self) -> bool {
        self.definition.unique.iter().any(|unique| {
            let mut keys: Vec<_> = self.rows.iter().filter_map(|row| self.key(row, unique)).collect();
            let count = keys.len();
            keys.sort();
            keys.dedup();
            keys.len() < count
        })
    }

    /// The values of a row's key; `None` if it equals no other key.
    pub(crate) fn key(&self, row: &Row, unique: &Unique) -> Option<Vec<Option<i64>>> {
        let values: Vec<_> = unique.columns.iter().map(|id| row.cells.get(&id.0).copied().flatten()).collect();
        (unique.nulls_equal || !values.contains(&None)).then_some(values)
    }
}

/// Returns whether a row violates the CHECK constraint of its table.
pub(crate) fn violates(definition: &TableDefinition, cells: &BTreeMap<u16, Option<i64>>) -> bool {
    shape::violates(definition, |wanted| {
        let column = definition.columns.iter().find(|column| kind(column) == wanted)?;
        cells.get(&column.id.0).copied().flatten()
    })
}

fn is_same(model: &TableDefinition, seen: &TableDefinition) -> bool {
    let names =
        |definition: &TableDefinition| definition.indexes.iter().map(|index| index.name.clone()).collect::<Vec<_>>();
    // In SQL, the value of an added column for older rows is also its default.
    let columns = |definition: &TableDefinition| -> Vec<Column> {
        definition.columns.iter().map(|column| Column { default: None, ..column.clone() }).collect()
    };
    (&model.name, columns(model), model.time, model.slice) == (&seen.name, columns(seen), seen.time, seen.slice)
        && (&model.memory, &model.checks) == (&seen.memory, &seen.checks)
        && (&model.unique, model.on_conflict, model.retention) == (&seen.unique, seen.on_conflict, seen.retention)
        && names(model) == names(seen)
}
