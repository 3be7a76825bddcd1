//! Rows that are about to be added to a table, and appenders that collect them.

use super::database::Database;
use super::statement::cells_of;
use super::table::{TableModel, violates};
use crate::shape::policy_of;
use crate::subject::{Cells, Policy};
use atsdb_core::{ConflictPolicy, TableDefinition};
use std::collections::BTreeMap;

/// Rows that are about to be added to a table.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) table: u64,
    pub(crate) policy: Option<ConflictPolicy>,
    pub(crate) rows: Vec<BTreeMap<u16, Option<i64>>>,
    /// The number of the table's definition for which they were made.
    pub(crate) defined: u64,
}

impl Pending {
    pub(crate) fn new(table: &TableModel, policy: Option<Policy>, rows: &[Cells]) -> Self {
        let policy = policy.map(policy_of);
        Self { table: table.uid, policy, rows: cells_of(&table.definition, rows), defined: table.defined }
    }

    /// Appends them. `None` if that must be refused, otherwise whether it may be refused.
    pub(crate) fn append_to(&self, database: &mut Database) -> Option<bool> {
        if self.rows.is_empty() {
            return Some(false);
        }
        let table = database.by_uid(self.table)?;
        let may_conflict = table.defined != self.defined;
        let policy = self.policy.unwrap_or(table.definition.on_conflict);
        database.append(self.table, &self.rows, policy).ok()?;
        Some(may_conflict)
    }
}

/// An appender with rows that are not flushed.
#[derive(Debug, Clone)]
pub(crate) struct Appender {
    definition: TableDefinition,
    pending: Pending,
    /// Whether rows were dropped that a flush must report.
    is_broken: bool,
}

impl Appender {
    pub(crate) fn new(table: &TableModel) -> Self {
        let pending = Pending::new(table, None, &[]);
        Self { definition: table.definition.clone(), pending, is_broken: false }
    }

    /// Adds rows. Returns whether all were accepted.
    pub(crate) fn push(&mut self, rows: &[Cells], together: bool) -> bool {
        if self.is_broken {
            return false;
        }
        // Rows that were pushed one by one are tested before a batch is added, or by the flush.
        let is_violating = |rows: &[BTreeMap<u16, Option<i64>>]| rows.iter().any(|row| violates(&self.definition, row));
        if together && is_violating(&self.pending.rows) {
            self.is_broken = true;
            return false;
        }
        let (before, rows) = (self.pending.rows.len(), cells_of(&self.definition, rows));
        if together && is_violating(&rows) {
            return false;
        }
        for row in rows {
            let is_null = |column: &atsdb_core::Column| !column.nullable && row.get(&column.id.0) == Some(&None);
            if self.definition.columns.iter().any(is_null) {
                self.pending.rows.truncate(if together { before } else { usize::MAX });
                return false;
            }
            self.pending.rows.push(row);
        }
        true
    }

    /// Returns whether its table still has the definition with which the appender was opened.
    pub(crate) fn is_present(&self, database: &Database) -> bool {
        database.by_uid(self.pending.table).is_some_and(|table| table.defined == self.pending.defined)
    }

    pub(crate) fn break_off(&mut self) {
        self.is_broken = true;
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Takes the pushed rows; `None` if rows were dropped.
    pub(crate) fn empty(&mut self) -> Option<Pending> {
        let pending = self.pending.clone();
        self.pending.rows.clear();
        (!std::mem::take(&mut self.is_broken)).then_some(pending)
    }
}
