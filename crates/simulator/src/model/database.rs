//! The tables and rollups, and the parents and children, that are visible at one moment.

use super::references::References;
use super::rollup::RollupModel;
use super::table::{Row, TableModel, number, violates};
use crate::compare::SeenDatabase;
use crate::shape::{ColumnKind, is_meant, kind};
use crate::subject::RowSelection;
use atsdb_core::{ConflictPolicy, TableDefinition};
use std::collections::BTreeMap;

/// All tables and rollups, and parents and children. For a table in memory it holds the saved rows, or those of one
/// process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Database {
    pub(crate) tables: Vec<TableModel>,
    pub(crate) rollups: Vec<RollupModel>,
    pub(crate) references: References,
}

/// A change of existing rows.
pub(crate) enum Change {
    Delete,
    Note(Option<i64>),
}

/// The rows are refused.
pub(crate) struct NotAppended;

impl Database {
    pub(crate) fn table(&self, name: &str) -> Option<&TableModel> {
        self.tables.iter().find(|table| table.definition.name == name)
    }

    pub(crate) fn table_mut(&mut self, name: &str) -> Option<&mut TableModel> {
        self.tables.iter_mut().find(|table| table.definition.name == name)
    }

    pub(crate) fn by_uid(&self, uid: u64) -> Option<&TableModel> {
        self.tables.iter().find(|table| table.uid == uid)
    }

    pub(crate) fn by_uid_mut(&mut self, uid: u64) -> Option<&mut TableModel> {
        self.tables.iter_mut().find(|table| table.uid == uid)
    }

    pub(crate) fn create(&mut self, definition: TableDefinition) -> Option<u64> {
        if self.table(&definition.name).is_some() {
            return None;
        }
        let table = TableModel::new(definition);
        let uid = table.uid;
        self.tables.push(table);
        Some(uid)
    }

    /// Drops a table; `None` if it does not exist, or if it has rollups that are not to be dropped with it.
    pub(crate) fn drop_table(&mut self, name: &str, cascade: bool) -> Option<u64> {
        let position = self.tables.iter().position(|table| table.definition.name == name)?;
        let uid = self.tables[position].uid;
        if !cascade && self.rollups_of(uid).next().is_some() {
            return None;
        }
        self.rollups.retain(|rollup| rollup.source != uid);
        Some(self.tables.remove(position).uid)
    }

    pub(crate) fn rollup(&self, name: &str) -> Option<&RollupModel> {
        self.rollups.iter().find(|rollup| rollup.name == name)
    }

    pub(crate) fn rollups_of(&self, table: u64) -> impl Iterator<Item = &RollupModel> {
        self.rollups.iter().filter(move |rollup| rollup.source == table)
    }

    /// The answer of a rollup.
    pub(crate) fn rollup_rows(&self, name: &str) -> Option<Vec<Vec<Option<i64>>>> {
        let rollup = self.rollup(name)?;
        self.by_uid(rollup.source).map(|source| rollup.answer(source))
    }

    /// Notes that this rollup, or all of them, may have been closed from now on.
    pub(crate) fn note_closable(&mut self, name: Option<&str>, now_ms: i64) {
        for rollup in self.rollups.iter_mut().filter(|rollup| name.is_none_or(|name| rollup.name == name)) {
            if let Some(source) = self.tables.iter().find(|table| table.uid == rollup.source) {
                rollup.note_closable(source, now_ms);
            }
        }
    }

    /// The time before which expired rows of a table may have been dropped.
    pub(crate) fn dropped_before(&self, table: u64) -> i64 {
        self.rollups_of(table).map(RollupModel::allows_drop_before).min().unwrap_or(i64::MAX)
    }

    /// Appends rows one after the other. Either all are appended, or none with an error.
    pub(crate) fn append(
        &mut self,
        uid: u64,
        rows: &[BTreeMap<u16, Option<i64>>],
        policy: ConflictPolicy,
    ) -> Result<(), NotAppended> {
        let table = self.by_uid_mut(uid).ok_or(NotAppended)?;
        if rows.iter().any(|cells| table.refuses(cells)) {
            return Err(NotAppended);
        }
        let mut new = table.clone();
        for cells in rows {
            let mut row = Row { id: number(), cells: cells.clone(), may_be_dropped: false };
            let unique = new.definition.unique.clone();
            let is_there = |other: &Row| {
                unique.iter().any(|unique| {
                    let key = new.key(&row, unique);
                    key.is_some() && key == new.key(other, unique)
                })
            };
            let others: Vec<u64> = new.rows.iter().filter(|other| is_there(other)).map(|other| other.id).collect();
            match policy {
                _ if others.is_empty() => {}
                ConflictPolicy::Error => return Err(NotAppended),
                ConflictPolicy::Keep => continue,
                ConflictPolicy::Replace => {
                    new.rows.retain(|other| !others.contains(&other.id));
                    new.rewritten += 1;
                }
                ConflictPolicy::Merge => {
                    for old in new.rows.iter().filter(|other| others.contains(&other.id)) {
                        for (column, value) in new.definition.columns.iter().zip(new.values(old)) {
                            let merged = row.cells.entry(column.id.0).or_default();
                            *merged = merged.or(value);
                        }
                    }
                    new.rows.retain(|other| !others.contains(&other.id));
                    new.rewritten += 1;
                }
            }
            new.rows.push(row);
        }
        new.added += 1;
        *table = new;
        Ok(())
    }

    /// Appends a row, or sets the note of the row with the same key. The table must have a key.
    pub(crate) fn upsert(&mut self, uid: u64, cells: &BTreeMap<u16, Option<i64>>) -> Result<(), NotAppended> {
        let table = self.by_uid_mut(uid).ok_or(NotAppended)?;
        let unique = table.definition.unique.first().ok_or(NotAppended)?.clone();
        // The row is tested before it meets another one.
        if table.refuses(cells) {
            return Err(NotAppended);
        }
        let row = Row { id: number(), cells: cells.clone(), may_be_dropped: false };
        let key = table.key(&row, &unique);
        let holder =
            key.and_then(|key| table.rows.iter().position(|other| table.key(other, &unique).as_ref() == Some(&key)));
        let Some(holder) = holder else {
            return self.append(uid, std::slice::from_ref(cells), ConflictPolicy::Error);
        };
        let note =
            table.definition.columns.iter().find(|column| kind(column) == ColumnKind::Note).ok_or(NotAppended)?.id.0;
        table.rows[holder].id = row.id;
        table.rows[holder].cells.insert(note, cells.get(&note).copied().flatten());
        table.rewritten += 1;
        table.added += 1;
        Ok(())
    }

    /// Changes rows of a table. Returns `None` if there is no such table, or if a row would violate its constraint.
    pub(crate) fn change_rows(&mut self, name: &str, meant: RowSelection, change: &Change) -> Option<u64> {
        let table = self.table_mut(name)?;
        let note = table.definition.columns.iter().find(|column| kind(column) == ColumnKind::Note)?.id.0;
        let is_in = |row: &Row| is_meant(&table.definition, &table.values(row), meant);
        let ids: Vec<u64> = table.rows.iter().filter(|row| is_in(row)).map(|row| row.id).collect();
        match change {
            Change::Delete => table.rows.retain(|row| !ids.contains(&row.id)),
            Change::Note(value) => {
                let is_violating = |row: &Row| {
                    let mut cells = row.cells.clone();
                    cells.insert(note, *value);
                    violates(&table.definition, &cells)
                };
                if table.rows.iter().any(|row| ids.contains(&row.id) && is_violating(row)) {
                    return None;
                }
                // A changed row counts as another row.
                for row in table.rows.iter_mut().filter(|row| ids.contains(&row.id)) {
                    row.id = number();
                    row.cells.insert(note, *value);
                }
            }
        }
        if !ids.is_empty() {
            table.rewritten += 1;
            table.added += 1;
        }
        Some(table.uid)
    }

    /// Notes that expired rows may have been dropped from now on.
    pub(crate) fn expire(&mut self, now_ms: i64) {
        for table in &mut self.tables {
            let (Some(retention), Some(time)) = (table.definition.retention, table.definition.time) else { continue };
            let cutoff = retention.cutoff(now_ms, time.unit);
            let has_expired =
                |row: &Row| row.cells.get(&time.column.0).copied().flatten().is_some_and(|at| at < cutoff);
            table.rows.iter_mut().filter(|row| has_expired(row)).for_each(|row| row.may_be_dropped = true);
        }
    }

    /// Notes that chunks may have been replaced by others with the same rows from now on.
    pub(crate) fn note_rewritten(&mut self) {
        self.tables.iter_mut().for_each(|table| table.rewritten += 1);
        self.references.note_rewritten();
    }

    pub(crate) fn agrees(&mut self, seen: &SeenDatabase) -> bool {
        if (self.tables.len(), self.rollups.len()) != (seen.tables.len(), seen.rollups.len()) {
            return false;
        }
        if !self.references.agrees(&seen.references) {
            return false;
        }
        for rollup in &mut self.rollups {
            let source = self.tables.iter().find(|table| table.uid == rollup.source);
            let (Some(source), Some(seen)) = (source, seen.rollups.get(&rollup.name)) else { return false };
            let is_same = source.definition.name == seen.table && rollup.settle(seen.closed_before);
            if !is_same || seen.rows.as_ref().is_some_and(|rows| *rows != rollup.answer(source)) {
                return false;
            }
        }
        let limits: Vec<i64> = self.tables.iter().map(|table| self.dropped_before(table.uid)).collect();
        let mut tables = self.tables.iter_mut().zip(limits);
        tables
            .all(|(table, limit)| seen.tables.get(&table.definition.name).is_some_and(|seen| table.agrees(seen, limit)))
    }

    /// A text that is the same for indistinguishable states.
    pub(crate) fn signature(&self) -> String {
        let definitions: Vec<&TableDefinition> = self.tables.iter().map(|table| &table.definition).collect();
        let rollups: Vec<String> = self.rollups.iter().map(RollupModel::signature).collect();
        format!("{definitions:?}{rollups:?}{}", self.shown())
    }

    /// Returns the numbers of changes of each table, as text. They decide whether a transaction that has read earlier
    /// is in conflict.
    pub(crate) fn counters(&self) -> String {
        let counters = self.tables.iter().map(|table| (table.uid, table.added, table.rewritten, table.defined));
        format!("{:?}{}", counters.collect::<Vec<_>>(), self.references.counters())
    }

    pub(crate) fn shown(&self) -> String {
        let mut lines = Vec::new();
        for table in &self.tables {
            let columns: Vec<&str> = table.definition.columns.iter().map(|column| column.name.as_str()).collect();
            let mut rows: Vec<_> = table.rows.iter().map(|row| (table.values(row), row.may_be_dropped)).collect();
            rows.sort();
            let rows = rows.iter().map(|(row, may)| format!("\n    {row:?}{}", if *may { " may be gone" } else { "" }));
            let rows: String = rows.collect();
            let definition = &table.definition;
            let (slice, retention, indexes) = (definition.slice, definition.retention, definition.indexes.len());
            let name = &definition.name;
            lines.push(format!("  {name} {columns:?} {slice} {retention:?} {indexes} indexes{rows}"));
        }
        lines.extend(self.rollups.iter().map(RollupModel::shown));
        lines.sort();
        lines.push(self.references.shown());
        lines.join("\n")
    }
}
