//! Tables as lists of rows.

use super::transaction::Pending;
use crate::action::Rows;
use crate::compare::{Seen, SeenTable};
use crate::execute::is_meant;
use crate::shape::{Kind, kind};
use atsdb_core::{Column, ConflictPolicy, TableDefinition, Value};
use std::cell::Cell;
use std::collections::BTreeMap;

/// A row. Its number tells it apart from others with the same values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: u64,
    pub(crate) cells: BTreeMap<u16, Option<i64>>,
    /// Whether it has expired, and may be gone.
    pub(crate) may_be_gone: bool,
}

/// A table.
#[derive(Debug, Clone)]
pub(crate) struct TableModel {
    pub(crate) uid: u64,
    pub(crate) definition: TableDefinition,
    pub(crate) rows: Vec<Row>,
    /// How often rows were added.
    pub(crate) added: u64,
    /// How often chunks may have been replaced.
    pub(crate) rewritten: u64,
    /// How often the definition has changed.
    pub(crate) defined: u64,
}

/// All tables.
#[derive(Debug, Clone, Default)]
pub(crate) struct Database {
    pub(crate) tables: Vec<TableModel>,
}

/// What becomes of rows.
pub(crate) enum Change {
    Delete,
    Note(Option<i64>),
}

/// Why rows are not appended.
pub(crate) struct NotAppended;

/// The number of another row or table: one that no other has in any state.
fn number() -> u64 {
    thread_local!(static LAST: Cell<u64> = const { Cell::new(0) });
    LAST.with(|last| {
        last.set(last.get() + 1);
        last.get()
    })
}

impl TableModel {
    pub(crate) fn redefine(&mut self, to: TableDefinition) {
        self.definition = to;
        self.defined += 1;
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

    /// Whether this was read. What may have expired is then there or gone.
    pub(crate) fn agrees(&mut self, seen: &SeenTable) -> bool {
        is_same(&self.definition, &seen.definition) && self.has_rows(&seen.rows)
    }

    pub(crate) fn has_names(&self, names: &[String]) -> bool {
        self.definition.columns.iter().map(|column| &column.name).eq(names)
    }

    /// Whether these are its rows.
    pub(crate) fn has_rows(&mut self, rows: &[Vec<Option<i64>>]) -> bool {
        let mut own: Vec<(Vec<Option<i64>>, bool, u64)> =
            self.rows.iter().map(|row| (self.values(row), row.may_be_gone, row.id)).collect();
        // Of equal rows those that must be there come first.
        own.sort();
        let (mut found, mut gone) = (rows.iter().peekable(), Vec::new());
        for (values, may_be_gone, id) in &own {
            if found.peek() == Some(&values) {
                found.next();
            } else if *may_be_gone {
                gone.push(*id);
            } else {
                return false;
            }
        }
        if found.next().is_some() {
            return false;
        }
        self.rows.retain(|row| !gone.contains(&row.id));
        self.rows.iter_mut().for_each(|row| row.may_be_gone = false);
        true
    }

    /// Whether two rows have a key in common.
    pub(crate) fn has_duplicates(&self) -> bool {
        self.definition.unique.iter().any(|unique| {
            let mut keys: Vec<Vec<i64>> = self.rows.iter().filter_map(|row| self.key(row, &unique.columns)).collect();
            let count = keys.len();
            keys.sort();
            keys.dedup();
            keys.len() < count
        })
    }

    fn key(&self, row: &Row, columns: &[atsdb_core::ColumnId]) -> Option<Vec<i64>> {
        columns.iter().map(|id| row.cells.get(&id.0).copied().flatten()).collect()
    }
}

fn is_same(model: &TableDefinition, seen: &TableDefinition) -> bool {
    let names =
        |definition: &TableDefinition| definition.indexes.iter().map(|index| index.name.clone()).collect::<Vec<_>>();
    // SQL gives a column that is added with a value this value as its default, too.
    let columns = |definition: &TableDefinition| -> Vec<Column> {
        definition.columns.iter().map(|column| Column { default: None, ..column.clone() }).collect()
    };
    (&model.name, columns(model), model.time, model.slice) == (&seen.name, columns(seen), seen.time, seen.slice)
        && (&model.unique, model.on_conflict, model.retention) == (&seen.unique, seen.on_conflict, seen.retention)
        && names(model) == names(seen)
}

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
        let uid = number();
        self.tables.push(TableModel { uid, definition, rows: Vec::new(), added: 0, rewritten: 0, defined: 0 });
        Some(uid)
    }

    pub(crate) fn drop_table(&mut self, name: &str) -> Option<u64> {
        let position = self.tables.iter().position(|table| table.definition.name == name)?;
        Some(self.tables.remove(position).uid)
    }

    /// Appends rows one after the other; all, or none with an error.
    pub(crate) fn append(
        &mut self,
        uid: u64,
        rows: &[BTreeMap<u16, Option<i64>>],
        policy: ConflictPolicy,
    ) -> Result<(), NotAppended> {
        let table = self.by_uid_mut(uid).ok_or(NotAppended)?;
        let is_null = |cells: &BTreeMap<u16, Option<i64>>, column: &Column| {
            !column.nullable && cells.get(&column.id.0).copied().flatten().is_none()
        };
        if rows.iter().any(|cells| table.definition.columns.iter().any(|column| is_null(cells, column))) {
            return Err(NotAppended);
        }
        let mut new = table.clone();
        for cells in rows {
            let row = Row { id: number(), cells: cells.clone(), may_be_gone: false };
            let unique = new.definition.unique.clone();
            let is_there = |other: &Row| {
                unique.iter().any(|unique| {
                    let key = new.key(&row, &unique.columns);
                    key.is_some() && key == new.key(other, &unique.columns)
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
            }
            new.rows.push(row);
        }
        new.added += 1;
        *table = new;
        Ok(())
    }

    /// Appends a row, or sets the note of the one that has its key. The table must have one.
    pub(crate) fn upsert(&mut self, uid: u64, cells: &BTreeMap<u16, Option<i64>>) -> Result<(), NotAppended> {
        let table = self.by_uid_mut(uid).ok_or(NotAppended)?;
        let unique = table.definition.unique.first().ok_or(NotAppended)?.columns.clone();
        let row = Row { id: number(), cells: cells.clone(), may_be_gone: false };
        let key = table.key(&row, &unique);
        let holder =
            key.and_then(|key| table.rows.iter().position(|other| table.key(other, &unique).as_ref() == Some(&key)));
        let Some(holder) = holder else {
            return self.append(uid, std::slice::from_ref(cells), ConflictPolicy::Error);
        };
        let note = table.definition.columns.iter().find(|column| kind(column) == Kind::Note).ok_or(NotAppended)?.id.0;
        table.rows[holder].id = row.id;
        table.rows[holder].cells.insert(note, cells.get(&note).copied().flatten());
        table.rewritten += 1;
        table.added += 1;
        Ok(())
    }

    /// Appends rows that were made some time ago; `None` if that must be refused, and whether it may be.
    pub(crate) fn append_pending(&mut self, pending: &Pending) -> Option<bool> {
        if pending.rows.is_empty() {
            return Some(false);
        }
        let table = self.by_uid(pending.table)?;
        let may_conflict = table.defined != pending.defined;
        let policy = pending.policy.unwrap_or(table.definition.on_conflict);
        self.append(pending.table, &pending.rows, policy).ok()?;
        Some(may_conflict)
    }

    /// Changes rows of a table; `None` if there is no such table.
    pub(crate) fn change_rows(&mut self, name: &str, meant: Rows, change: &Change) -> Option<u64> {
        let table = self.table_mut(name)?;
        let note = table.definition.columns.iter().find(|column| kind(column) == Kind::Note)?.id.0;
        let is_in = |row: &Row| is_meant(&table.definition, &table.values(row), meant);
        let ids: Vec<u64> = table.rows.iter().filter(|row| is_in(row)).map(|row| row.id).collect();
        match change {
            Change::Delete => table.rows.retain(|row| !ids.contains(&row.id)),
            Change::Note(value) => {
                // A row that was changed is another row.
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

    /// What has expired may go.
    pub(crate) fn expire(&mut self, now_ms: i64) {
        for table in &mut self.tables {
            let (Some(retention), Some(time)) = (table.definition.retention, table.definition.time) else { continue };
            let cutoff = retention.cutoff(now_ms, time.unit);
            let has_expired =
                |row: &Row| row.cells.get(&time.column.0).copied().flatten().is_some_and(|at| at < cutoff);
            table.rows.iter_mut().filter(|row| has_expired(row)).for_each(|row| row.may_be_gone = true);
        }
    }

    /// Chunks may have been replaced by others of the same rows.
    pub(crate) fn note_rewritten(&mut self) {
        self.tables.iter_mut().for_each(|table| table.rewritten += 1);
    }

    pub(crate) fn agrees(&mut self, seen: &Seen) -> bool {
        let has_all = self.tables.len() == seen.len();
        has_all
            && self
                .tables
                .iter_mut()
                .all(|table| seen.get(&table.definition.name).is_some_and(|seen| table.agrees(seen)))
    }

    /// The same text for states that nobody can tell apart.
    pub(crate) fn signature(&self) -> String {
        let definitions: Vec<&TableDefinition> = self.tables.iter().map(|table| &table.definition).collect();
        format!("{definitions:?}{}", self.shown())
    }

    pub(crate) fn shown(&self) -> String {
        let mut lines = Vec::new();
        for table in &self.tables {
            let columns: Vec<&str> = table.definition.columns.iter().map(|column| column.name.as_str()).collect();
            let mut rows: Vec<_> = table.rows.iter().map(|row| (table.values(row), row.may_be_gone)).collect();
            rows.sort();
            let rows = rows.iter().map(|(row, may)| format!("\n    {row:?}{}", if *may { " may be gone" } else { "" }));
            let rows: String = rows.collect();
            let definition = &table.definition;
            let (slice, retention, indexes) = (definition.slice, definition.retention, definition.indexes.len());
            let name = &definition.name;
            lines.push(format!("  {name} {columns:?} {slice} {retention:?} {indexes} indexes{rows}"));
        }
        lines.sort();
        lines.join("\n")
    }
}
