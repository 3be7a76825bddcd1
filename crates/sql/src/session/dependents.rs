//! The views and materialized views that read what is to be dropped, or columns that get another name.

use super::state::Session;
use crate::plan::names::query_columns;
use crate::plan::rollups::Focus;
use atsdb_core::{Error, Result, Table, TableDefinition, TableId};
use atsdb_dialect::parse::query_text::relations_of;
use atsdb_dialect::parse::statement::parse_answer;
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::text::relation_kind::RelationKind;
use atsdb_engine::ReadSnapshot;
use datafusion::sql::sqlparser::ast::Statement as Ast;

impl Session {
    /// Adds the views that read tables which are to be dropped, before the tables. Without `cascade`, views that are
    /// not among the tables are an error.
    pub(super) fn with_views(&self, mut dropped: Vec<Table>, cascade: bool) -> Result<Vec<Table>> {
        let (snapshot, _) = self.snapshot_for_planning()?;
        let named = |view| (view, named_by(view, &snapshot));
        let mut others: Vec<(&Table, Vec<TableId>)> = snapshot.tables().iter().map(named).collect();
        loop {
            others.retain(|(view, _)| dropped.iter().all(|table| table.id != view.id));
            let reads_one = |(view, read): &(&Table, Vec<TableId>)| {
                let position = dropped.iter().position(|table| read.contains(&table.id))?;
                Some(((*view).clone(), position))
            };
            let Some((view, position)) = others.iter().find_map(reads_one) else { return Ok(dropped) };
            if !cascade {
                let read = &dropped[position].definition;
                let kind = RelationKind::of(read);
                let hint = match kind {
                    RelationKind::Rollup => {
                        let verb = RelationKind::of(&view.definition).drop_verb();
                        format!("{verb} {} first", view.definition.name)
                    }
                    _ => format!("{} ... CASCADE drops it, too", kind.drop_verb()),
                };
                return Err(depended_on(&format!("drop {} {}", kind.noun(), read.name), &view).with_hint(hint));
            }
            dropped.insert(0, view);
        }
    }

    /// Refuses a change of a table that drops a column, or gives a column another name, by which a view could not be
    /// read any more. The table itself may have another name: a view reads whatever has the name, so that a table can
    /// be replaced by another one.
    pub(super) fn check_views(&self, from: &Table, to: &TableDefinition) -> Result<()> {
        let changes = changes_of_columns(&from.definition, to);
        if changes.is_empty() {
            return Ok(());
        }
        let (snapshot, _) = self.snapshot_for_planning()?;
        for view in snapshot.tables() {
            let Some(query) = query_of(&view.definition).filter(|_| named_by(view, &snapshot).contains(&from.id))
            else {
                continue;
            };
            for (change, definition) in &changes {
                if !self.is_same_with(query, snapshot.seen_by(view), from, definition)? {
                    let verb = RelationKind::of(&view.definition).drop_verb();
                    let hint = format!("{verb} {} first, and create it again", view.definition.name);
                    return Err(depended_on(change, view).with_hint(hint));
                }
            }
        }
        Ok(())
    }

    /// Whether a query has the same columns and the same plan if a table has another definition: a name in a subquery
    /// may mean a column of the outer query then. A query that fails anyway has.
    fn is_same_with(
        &self,
        query: &str,
        snapshot: ReadSnapshot,
        from: &Table,
        definition: &TableDefinition,
    ) -> Result<bool> {
        let (query, from) = (query.to_owned(), from.clone());
        let to = Table { definition: definition.clone(), ..from.clone() };
        self.worker.plan(move |state| {
            let planned = |table: Table| -> Option<(Vec<String>, String)> {
                let focus = Focus { as_if: Some(table), ..Focus::default() };
                let (columns, plan) = query_columns(&query, &focus, state, &snapshot)?;
                let names = columns.fields().iter().map(|field| field.name().clone()).collect();
                Some((names, plan.display_indent().to_string()))
            };
            let before = planned(from);
            Ok(before.is_none() || before == planned(to))
        })
    }
}

/// The columns that a definition drops and renames, each with the definition that only this changes.
fn changes_of_columns(from: &TableDefinition, to: &TableDefinition) -> Vec<(String, TableDefinition)> {
    let mut changes = Vec::new();
    for (at, column) in from.columns.iter().enumerate() {
        let mut changed = from.clone();
        let verb = match to.columns.iter().find(|other| other.id == column.id) {
            Some(now) if now.name == column.name => continue,
            Some(now) => {
                changed.columns[at].name.clone_from(&now.name);
                "rename"
            }
            None => {
                changed.columns.remove(at);
                "drop"
            }
        };
        changes.push((format!("{verb} column {} of table {}", column.name, from.name), changed));
    }
    changes
}

fn depended_on(change: &str, view: &Table) -> Error {
    let (kind, name) = (RelationKind::of(&view.definition).noun(), &view.definition.name);
    sql_error(format!("cannot {change} because other objects depend on it: {kind} {name}"))
}

/// The tables that the stored query of a view names.
fn named_by(view: &Table, snapshot: &ReadSnapshot) -> Vec<TableId> {
    match query_of(&view.definition).and_then(parse_answer) {
        Some(Ast::Query(query)) => {
            let seen = snapshot.seen_by(view);
            relations_of(&query).iter().filter_map(|name| Some(name.find(seen.tables())?.id)).collect()
        }
        _ => Vec::new(),
    }
}

/// The stored query of a view or a materialized view.
fn query_of(definition: &TableDefinition) -> Option<&str> {
    let of_view = definition.view.as_ref().map(|view| view.query.as_str());
    of_view.or_else(|| definition.materialized.as_ref().map(|materialized| materialized.query.as_str()))
}
