//! The effects of statements on tables, and their possible results.

use super::database::{Change, Database};
use super::references::REFERENCES;
use crate::action::Action;
use crate::shape::{ColumnKind, altered, definition, kind, policy_of, value};
use crate::subject::{Cells, RowSelection, rollup_name, table_name};
use atsdb_core::TableDefinition;
use std::collections::{BTreeMap, BTreeSet};

/// A possible result of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Done,
    Duplicate,
    Nothing,
    /// It is refused, with an error of any kind except those that indicate a bug.
    Refused,
}

/// A row's values by the numbers of its columns.
pub(crate) fn cells_of(definition: &TableDefinition, rows: &[Cells]) -> Vec<BTreeMap<u16, Option<i64>>> {
    let cells = |row| definition.columns.iter().map(|column| (column.id.0, value(row, column))).collect();
    rows.iter().map(cells).collect()
}

/// Executes a statement. Returns `None` if it is refused, and `Some(false)` if it has no effect.
pub(crate) fn change(database: &mut Database, action: &Action, touched: &mut BTreeSet<u64>) -> Option<bool> {
    match action {
        Action::Append { table, policy, rows, .. } => {
            let table = database.table(table_name(*table))?;
            let (uid, definition) = (table.uid, table.definition.clone());
            if definition.has_unique() {
                touched.insert(uid);
            }
            let policy = policy.map_or(definition.on_conflict, policy_of);
            database.append(uid, &cells_of(&definition, rows), policy).ok()?;
        }
        Action::Delete { table, rows, .. } => {
            touched.insert(database.change_rows(table_name(*table), *rows, &Change::Delete)?);
        }
        Action::Update { table, rows, note, .. } => {
            touched.insert(database.change_rows(table_name(*table), *rows, &Change::Note(*note))?);
        }
        Action::Upsert { table, row, .. } => {
            let (uid, definition) =
                database.table(table_name(*table)).map(|table| (table.uid, table.definition.clone()))?;
            touched.insert(uid);
            database.upsert(uid, &cells_of(&definition, &[*row])[0]).ok()?;
        }
        Action::Truncate { table, .. } => {
            touched.insert(database.change_rows(table_name(*table), RowSelection::All, &Change::Delete)?);
        }
        Action::Read { table, .. } => {
            database.table(table_name(*table))?;
        }
        Action::Create { table, shape, policy, is_checked, .. } => {
            database.create(definition(*table, *shape, *policy, *is_checked))?;
        }
        Action::Refer { change, .. } => {
            touched.insert(REFERENCES);
            database.references.apply(change)?;
        }
        Action::ReadReferences { .. } => {
            database.references.joined()?;
        }
        Action::ReadRollup { rollup, .. } => {
            database.rollup(rollup_name(*rollup))?;
        }
        Action::Drop { table, cascade, .. } => {
            touched.insert(database.drop_table(table_name(*table), *cascade)?);
        }
        Action::Alter { table, alteration, .. } => {
            let from = database.table(table_name(*table))?.definition.clone();
            let Some(to) = altered(&from, *alteration) else { return Some(false) };
            if to.name != from.name && database.table(&to.name).is_some() {
                return None;
            }
            if database.rollups_of(database.table(table_name(*table))?.uid).any(|rollup| {
                let reads_note = rollup.summary.notes && note_of(&to) != note_of(&from);
                to.name != from.name || reads_note
            }) {
                return None;
            }
            let table = database.table_mut(table_name(*table))?;
            touched.insert(table.uid);
            table.redefine(to);
            if table.has_duplicates() {
                return None;
            }
        }
        _ => return None,
    }
    Some(true)
}

/// The name of the notes' column.
fn note_of(definition: &TableDefinition) -> Option<&str> {
    definition.columns.iter().find(|column| kind(column) == ColumnKind::Note).map(|column| column.name.as_str())
}
