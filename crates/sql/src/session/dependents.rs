//! The views and materialized views that read what is to be dropped, or columns that are dropped or get another
//! name.

use super::state::Session;
use crate::ddl::view_columns::{ColumnChange, with_former_names};
use crate::plan::names::query_columns;
use crate::plan::rollups::PlanFocus;
use atsdb_core::{Column, DefinitionVersion, Error, ErrorKind, Result, Table, TableDefinition, TableId};
use atsdb_dialect::parse::query_text::relations_of;
use atsdb_dialect::parse::statement::parse_answer;
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::text::relation_kind::RelationKind;
use atsdb_dialect::text::table_names::TableName;
use atsdb_engine::{Batch, ReadSnapshot, TemporaryTables};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::{Optimizer, OptimizerRule};
use datafusion::sql::sqlparser::ast::Statement as Ast;
use std::collections::BTreeMap;
use std::sync::Arc;

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

    /// The views that read a table, with the queries that show the same columns after the table, or a view, has another
    /// definition: they give columns with another name the one that they know. A change that drops a column is
    /// refused if a view could not be read any more. The table itself may have another name: a view reads whatever has
    /// the name, so that a table can be replaced by another one.
    pub(super) fn views_after(
        &self,
        from: &Table,
        to: &TableDefinition,
        columns: &ColumnChange,
    ) -> Result<Vec<(Table, TableDefinition)>> {
        if columns.keeps_all() && !columns.names_all {
            return Ok(Vec::new());
        }
        let relation = format!("{} {}", RelationKind::of(&from.definition).noun(), from.definition.name);
        for (column, definition) in without_each_dropped(&from.definition, to) {
            let lacking = ColumnChange::between(&from.definition, &definition);
            let change = format!("drop column {column} of {relation}");
            self.rewritten_views(from, &definition, &lacking, ViewPromise::SamePlan, &change)?;
        }
        let change = match columns.first_renamed() {
            Some(column) => format!("rename column {column} of {relation}"),
            None => format!("change the columns of {relation}"),
        };
        self.rewritten_views(from, to, columns, ViewPromise::SameColumns, &change)
    }

    /// The views whose queries must be written anew for a change of a table. One that cannot be is an error that names
    /// the change.
    fn rewritten_views(
        &self,
        from: &Table,
        to: &TableDefinition,
        columns: &ColumnChange,
        promise: ViewPromise,
        change: &str,
    ) -> Result<Vec<(Table, TableDefinition)>> {
        let with = |mut definition: TableDefinition| {
            definition.rename(from.definition.schema.as_deref(), from.definition.local_name());
            Table { definition, ..from.clone() }
        };
        let (snapshot, _) = self.snapshot_for_planning()?;
        let reads_it = |view: &&Table| named_by(view, &snapshot).contains(&from.id);
        let mut left: Vec<&Table> = snapshot.tables().iter().filter(reads_it).collect();
        let hidden = without_renamed_names(&from.definition, to).map(with);
        let (mut now, mut rewritten) = (vec![with(to.clone())], Vec::new());
        while !left.is_empty() {
            let (left_count, mut waiting) = (left.len(), Vec::new());
            for view in left {
                let Some(query) = query_of(&view.definition) else { continue };
                let seen = snapshot.seen_by(view);
                if self.is_unaffected(query, hidden.as_ref(), &now, &seen)? {
                    continue;
                }
                let is_table = |name: &TableName| name.find(seen.tables()).is_some_and(|table| table.id == from.id);
                let written = match with_former_names(query, &is_table, columns) {
                    Some(written) => self.keeping_promise(query, written, promise, &now, &seen)?,
                    None => None,
                };
                match written {
                    Some(written) if written == query => {}
                    Some(written) => {
                        let definition = with_query(&view.definition, written);
                        now.push(Table { definition: definition.clone(), ..view.clone() });
                        rewritten.push((view.clone(), definition));
                    }
                    // It may read another view that must be written anew before it.
                    None => waiting.push(view),
                }
            }
            if let Some(view) = waiting.first().filter(|_| waiting.len() == left_count) {
                let verb = RelationKind::of(&view.definition).drop_verb();
                let hint = format!("{verb} {} first, and create it again", view.definition.name);
                return Err(depended_on(change, view).with_hint(hint));
            }
            left = waiting;
        }
        Ok(rewritten)
    }

    /// Returns whether a view's query may stay as it is after a change of tables to the definitions `now`. `hidden` is
    /// the first of them without its renamed columns: another column may have the name that one had before.
    fn is_unaffected(
        &self,
        query: &str,
        hidden: Option<&Table>,
        now: &[Table],
        snapshot: &ReadSnapshot,
    ) -> Result<bool> {
        if let Some(hidden) = hidden {
            let mut without = now.to_vec();
            without[0] = hidden.clone();
            if !self.is_same_with(query, without, snapshot)? {
                return Ok(false);
            }
        }
        self.is_same_with(query, now.to_vec(), snapshot)
    }

    /// The query written anew, if it keeps the promise to the view after a change of tables to the definitions `now`.
    fn keeping_promise(
        &self,
        query: &str,
        written: String,
        promise: ViewPromise,
        now: &[Table],
        snapshot: &ReadSnapshot,
    ) -> Result<Option<String>> {
        let [before, after] = self.planned_both(query, &written, now.to_vec(), snapshot)?;
        let is_kept = match promise {
            ViewPromise::SamePlan => before == after,
            ViewPromise::SameColumns => {
                let names = |planned: Option<PlannedQuery>| planned.map(|planned| planned.columns);
                written == query || names(before) == names(after)
            }
        };
        Ok(is_kept.then_some(written))
    }

    /// Returns whether a query has the same columns and the same plan if tables have other definitions: a name in a
    /// subquery may mean a column of the outer query then. A query that fails anyway has.
    fn is_same_with(&self, query: &str, as_if: Vec<Table>, snapshot: &ReadSnapshot) -> Result<bool> {
        let [before, after] = self.planned_both(query, query, as_if, snapshot)?;
        Ok(before.is_none() || before == after)
    }

    /// A query over the tables, and another one over tables with these definitions; `None` for one that fails.
    fn planned_both(
        &self,
        query: &str,
        written: &str,
        as_if: Vec<Table>,
        snapshot: &ReadSnapshot,
    ) -> Result<[Option<PlannedQuery>; 2]> {
        // A table in memory is planned as a stored one where definitions are given.
        let present = as_if.iter().filter_map(|changed| snapshot.tables().iter().find(|table| table.id == changed.id));
        let both = [(query.to_owned(), present.cloned().collect()), (written.to_owned(), as_if)];
        let snapshot = snapshot.clone();
        self.worker.plan(move |state| Ok(both.map(|(query, as_if)| PlannedQuery::of(&query, as_if, state, &snapshot))))
    }
}

/// The property that a view keeps when a table that it reads is changed.
#[derive(Clone, Copy)]
enum ViewPromise {
    /// The same rows, computed from the same columns.
    SamePlan,
    /// Columns of the same names.
    SameColumns,
}

/// The names of a query's columns, and its logical plan as text. If both are equal, two queries return the same rows.
#[derive(PartialEq)]
struct PlannedQuery {
    columns: Vec<String>,
    plan: String,
}

impl PlannedQuery {
    /// A query over tables that have these definitions.
    fn of(query: &str, as_if: Vec<Table>, state: &SessionState, snapshot: &ReadSnapshot) -> Option<Self> {
        let focus = PlanFocus { as_if, ..PlanFocus::default() };
        let (columns, plan) = query_columns(query, &focus, state, snapshot)?;
        let columns = columns.fields().iter().map(|field| field.name().clone()).collect();
        Some(Self { columns, plan: without_unused(plan, state).display_indent().to_string() })
    }
}

/// A plan without the columns that it does not use.
fn without_unused(plan: LogicalPlan, state: &SessionState) -> LogicalPlan {
    let rules: Vec<Arc<dyn OptimizerRule + Send + Sync>> = vec![Arc::new(OptimizeProjections::new())];
    Optimizer::with_rules(rules).optimize(plan.clone(), state, |_, _| {}).unwrap_or(plan)
}

/// The columns that a definition drops, each with the definition that lacks only this one.
fn without_each_dropped(from: &TableDefinition, to: &TableDefinition) -> Vec<(String, TableDefinition)> {
    let is_dropped = |column: &&Column| to.columns.iter().all(|other| other.id != column.id);
    let without = |column: &Column| {
        let mut changed = from.clone();
        changed.columns.retain(|other| other.id != column.id);
        (column.name.clone(), changed)
    };
    from.columns.iter().filter(is_dropped).map(without).collect()
}

/// A definition in which each column with another name than before has one that no query contains; `None` if there is
/// no such column. A view has none: its query gives the names.
fn without_renamed_names(from: &TableDefinition, to: &TableDefinition) -> Option<TableDefinition> {
    if !to.columns.iter().any(|column| is_renamed(column, from)) {
        return None;
    }
    let mut definition = to.clone();
    for column in &mut definition.columns {
        if is_renamed(column, from) {
            column.name = format!("\u{1}{}", column.id.0);
        }
    }
    Some(definition)
}

/// Returns whether a column had another name in an earlier definition.
fn is_renamed(column: &Column, from: &TableDefinition) -> bool {
    from.columns.iter().any(|before| before.id == column.id && before.name != column.name)
}

/// Gives the tables that a new view reads another version: a session that drops or changes one of them at the same time
/// has not seen the view, and one of the two cannot commit. `seen` are the tables with which the view was planned.
///
/// # Errors
///
/// [`Conflict`](ErrorKind::Conflict) if the batch sees other tables.
pub(super) fn hold_read(batch: &mut Batch, view: &TableDefinition, seen: &[Table]) -> Result<()> {
    let seen: Vec<Table> = seen.iter().filter(|table| !TemporaryTables::contain(table)).cloned().collect();
    let read = named_in(view, &seen);
    if read.is_empty() {
        return Ok(());
    }
    let is_read = |table: &&Table| read.contains(&table.id);
    let present = batch.tables()?;
    require_same(seen.iter().filter(is_read), present.iter().filter(is_read))?;
    present.iter().filter(is_read).try_for_each(|table| batch.begin_to_name(table))
}

/// Refuses to drop or change tables if the batch sees other versions of them than the statement did.
///
/// # Errors
///
/// [`Conflict`](ErrorKind::Conflict), after which the statement looks again.
pub(super) fn require_unchanged(batch: &mut Batch, tables: &[Table]) -> Result<()> {
    let present = batch.tables()?;
    let is_one = |other: &&Table| tables.iter().any(|table| table.id == other.id);
    require_same(tables.iter(), present.iter().filter(is_one))
}

/// Refuses work on tables if the batch sees others than the statement did: a [`Conflict`](ErrorKind::Conflict), after
/// which the statement looks again.
pub(super) fn require_same<'a>(
    seen: impl Iterator<Item = &'a Table>,
    now: impl Iterator<Item = &'a Table>,
) -> Result<()> {
    let seen: BTreeMap<TableId, DefinitionVersion> = seen.map(|table| (table.id, table.version)).collect();
    let now: BTreeMap<TableId, DefinitionVersion> = now.map(|table| (table.id, table.version)).collect();
    match seen == now {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Conflict, "another session has changed what the statement depends on")),
    }
}

fn depended_on(change: &str, view: &Table) -> Error {
    let (kind, name) = (RelationKind::of(&view.definition).noun(), &view.definition.name);
    sql_error(format!("cannot {change} because other objects depend on it: {kind} {name}"))
}

/// The tables that the stored query of a view names.
fn named_by(view: &Table, snapshot: &ReadSnapshot) -> Vec<TableId> {
    named_in(&view.definition, snapshot.seen_by(view).tables())
}

/// Returns the ids of those tables that the stored query of a view names.
fn named_in(view: &TableDefinition, tables: &[Table]) -> Vec<TableId> {
    match query_of(view).and_then(parse_answer) {
        Some(Ast::Query(query)) => relations_of(&query).iter().filter_map(|name| Some(name.find(tables)?.id)).collect(),
        _ => Vec::new(),
    }
}

/// The stored query of a view or a materialized view.
fn query_of(definition: &TableDefinition) -> Option<&str> {
    let of_view = definition.view.as_ref().map(|view| view.query.as_str());
    of_view.or_else(|| definition.materialized.as_ref().map(|materialized| materialized.query.as_str()))
}

/// The definition of a view or a materialized view with another query.
fn with_query(definition: &TableDefinition, query: String) -> TableDefinition {
    let mut definition = definition.clone();
    if let Some(view) = &mut definition.view {
        view.query = query;
    } else if let Some(materialized) = &mut definition.materialized {
        materialized.query = query;
    }
    definition
}
