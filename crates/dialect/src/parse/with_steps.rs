//! A statement whose `WITH` has items that change rows, as statements of their own.
//!
//! `WITH gone AS (DELETE FROM t RETURNING *) INSERT INTO u SELECT * FROM gone` is two steps: the item, and the main
//! statement, in which `gone` names the rows that the item returned. An item that only reads is a step as well if the
//! statement names it more than once: all parts must see the same rows of it. Other items stay in the clause.
//!
//! Not owned: executing the steps, and keeping their rows (`session` of the crate `sql`).

use super::with_clause::add_with;
use crate::text::errors::{not_supported, sql_error};
use crate::text::tree_walk::visit;
use crate::text::volatile_functions::has_volatile_call;
use atsdb_core::name::same_name;
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Cte, Delete, Ident, Insert, ObjectName, Query, Select, SetExpr, Statement as Ast, TableFactor, Update, Visit,
    Visitor,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The schema in which a query finds the rows of items that were executed. No statement can write this name.
pub const ITEM_SCHEMA: &str = "\u{1}item";

/// An item of `WITH` that is executed by itself.
#[derive(Debug, Clone)]
pub struct WithItem {
    /// The position of the item in the clause, from 0.
    pub position: usize,
    /// The name that `WITH` gives to the step.
    pub name: String,
    /// The names that the clause gives to its first columns.
    pub columns: Vec<String>,
    /// Whether it has rows: it only reads, or has `RETURNING`.
    pub has_rows: bool,
    /// Whether it is an `UPDATE` or `DELETE`, and not the only one of the statement.
    pub is_one_of_changes: bool,
    /// Whether it is executed after the main statement, which does not read it.
    pub runs_after: bool,
}

/// One step of a statement.
#[derive(Debug, Clone)]
pub struct WithStep {
    /// The position of the item; `None` for the main statement.
    pub item: Option<usize>,
    /// The items whose rows are known, by position. The rows of the first one are table 0 of [`ITEM_SCHEMA`].
    pub known: Vec<usize>,
}

/// The items to execute one by one, in the order of their execution; `None` if no item changes rows.
pub(super) fn items_to_execute(statement: &Ast) -> Result<Option<Vec<WithItem>>> {
    let Ast::Query(query) = statement else { return Ok(None) };
    let Some(with) = query.with.as_ref().filter(|with| with.cte_tables.iter().any(changes_rows)) else {
        return Ok(None);
    };
    let change_count = with.cte_tables.iter().filter(|item| changes_existing(&item.query)).count();
    let has_several = change_count + usize::from(changes_existing(query)) > 1;
    let mut items = Vec::new();
    for (position, item) in with.cte_tables.iter().enumerate() {
        if matches!(item.query.body.as_ref(), SetExpr::Merge(_)) {
            return Err(not_supported("MERGE in an item of WITH")
                .with_hint("write it as the main statement, or use INSERT ... ON CONFLICT"));
        }
        let later: usize = with.cte_tables[position + 1..].iter().map(|later| references(&later.query, item)).sum();
        let count = later + references(&query.body, item) + references(&query.order_by, item);
        let has_rows = !changes_rows(item) || has_returning(item);
        if !has_rows && count > 0 {
            return Err(sql_error(format!("{} of WITH has no rows", item.alias.name))
                .with_hint("add RETURNING to its statement"));
        }
        if changes_rows(item) || count > 1 {
            let columns = item.alias.columns.iter().map(|column| column.name.value.clone()).collect();
            let name = item.alias.name.value.clone();
            let is_one_of_changes = has_several && changes_existing(&item.query);
            items.push(WithItem { position, name, columns, has_rows, is_one_of_changes, runs_after: false });
        }
    }
    Ok(Some(in_order(items, query, &with.cte_tables)))
}

/// Puts items in the order in which PostgreSQL changes rows, of which the first change counts. Items that the main
/// statement reads come first. Of the others, the last `UPDATE` or `DELETE` comes first, each behind the items that it
/// reads, and all come after the main statement if that is one, too. What adds rows comes last, so that no other part
/// has to leave them out.
fn in_order(items: Vec<WithItem>, query: &Query, all: &[Cte]) -> Vec<WithItem> {
    // For each item those that it reads, also through others.
    let mut read_by: Vec<BTreeSet<usize>> = Vec::with_capacity(all.len());
    for (position, reader) in all.iter().enumerate() {
        let direct = (0..position).filter(|item| references(&reader.query, &all[*item]) > 0);
        let read = direct.flat_map(|item| read_by[item].iter().copied().chain([item])).collect();
        read_by.push(read);
    }
    let is_read = |item: &usize| references(&query.body, &all[*item]) + references(&query.order_by, &all[*item]) > 0;
    let direct = (0..all.len()).filter(is_read);
    let read: BTreeSet<usize> = direct.flat_map(|item| read_by[item].iter().copied().chain([item])).collect();
    let (mut ordered, others): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| read.contains(&item.position));
    let runs_after = changes_existing(query);
    let others = others.into_iter().map(|item| WithItem { runs_after, ..item });
    let (mut changes, mut waiting): (Vec<_>, Vec<_>) =
        others.partition(|item| changes_existing(&all[item.position].query));
    while let Some(last) = changes.pop() {
        let is_needed = |item: &WithItem| read_by[last.position].contains(&item.position);
        let (mut needed, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(is_needed);
        waiting = later;
        let (changed, later): (Vec<_>, Vec<_>) = changes.into_iter().partition(is_needed);
        changes = later;
        needed.extend(changed);
        needed.sort_by_key(|item| item.position);
        ordered.extend(needed);
        ordered.push(last);
    }
    ordered.extend(waiting);
    ordered
}

/// Returns whether a query is a statement that changes or removes rows.
fn changes_existing(query: &Query) -> bool {
    matches!(query.body.as_ref(), SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_))
}

/// Makes one step of a statement a statement of its own.
pub(super) fn take_step(statement: Ast, step: &WithStep) -> Result<Ast> {
    let Ast::Query(mut query) = statement else { return Err(Error::internal("a step of no query")) };
    let Some(mut with) = query.with.take() else { return Err(Error::internal("a step of no WITH")) };
    if let Some(position) = step.item {
        let Some(item) = with.cte_tables.get(position).cloned() else {
            return Err(Error::internal("a step of no item"));
        };
        if changes_rows(&item) {
            with.cte_tables.truncate(position);
            query = item.query;
        } else {
            with.cte_tables.truncate(position + 1);
            query = Box::new(select_all(vec![item.alias.name])?);
        }
    }
    let mut items = Vec::new();
    for (position, mut item) in with.cte_tables.drain(..).enumerate() {
        if let Some(number) = step.known.iter().position(|known| *known == position) {
            item.query = Box::new(select_all(vec![Ident::new(ITEM_SCHEMA), Ident::new(number.to_string())])?);
            // The rows have these names.
            item.alias.columns.clear();
        } else if changes_rows(&item) {
            continue;
        }
        items.push(item);
    }
    with.cte_tables = items;
    add_with(&mut query, Some(with).filter(|with| !with.cte_tables.is_empty()));
    Ok(Ast::Query(query))
}

/// Refuses items that change rows, anywhere in a statement, and those whose values would differ in each place.
pub(super) fn refuse_changes_in_with(statement: &Ast) -> Result<()> {
    refuse_changes(statement, 0)
}

/// Refuses items that change rows, except those of the outermost `WITH`.
pub(super) fn refuse_inner_changes(statement: &Ast) -> Result<()> {
    refuse_changes(statement, usize::from(matches!(statement, Ast::Query(_))))
}

fn refuse_changes(statement: &Ast, allowed: usize) -> Result<()> {
    match visit(statement, &mut ChangeInWith { allowed }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// A visitor that looks for items of `WITH` that are refused.
struct ChangeInWith {
    /// The number of queries, from the outermost one on, whose `WITH` may have them.
    allowed: usize,
}

impl Visitor for ChangeInWith {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        if self.allowed > 0 {
            self.allowed -= 1;
            return ControlFlow::Continue(());
        }
        if query.with.iter().flat_map(|with| &with.cte_tables).any(changes_rows) {
            return ControlFlow::Break(
                not_supported("a WITH that changes rows inside another statement")
                    .with_hint("put the WITH at the beginning: WITH x AS (DELETE ... RETURNING *) INSERT INTO ..."),
            );
        }
        match refuse_volatile_items(query) {
            Err(error) => ControlFlow::Break(error),
            Ok(()) => ControlFlow::Continue(()),
        }
    }
}

/// Refuses items that have other values each time, as those of `random()`, and are read more than once: DataFusion
/// plans an item anew in each place.
fn refuse_volatile_items(query: &Query) -> Result<()> {
    let Some(with) = &query.with else { return Ok(()) };
    let items = &with.cte_tables;
    let mut volatile: Vec<&Cte> = Vec::new();
    for (position, item) in items.iter().enumerate() {
        let is_volatile = |other: &&Cte| references(&item.query, other) > 0;
        if !has_volatile_call(&item.query) && !volatile.iter().any(is_volatile) {
            continue;
        }
        let later: usize = items[position + 1..].iter().map(|later| references(&later.query, item)).sum();
        if later + references(&query.body, item) + references(&query.order_by, item) > 1 {
            let name = &item.alias.name;
            let part = format!("{name} of WITH, whose values change each time and which is read more than once,");
            return Err(not_supported(part)
                .with_hint(format!("write CREATE TEMPORARY TABLE {name} AS ... as a separate statement")));
        }
        volatile.push(item);
    }
    Ok(())
}

fn changes_rows(item: &Cte) -> bool {
    matches!(item.query.body.as_ref(), SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_))
}

fn has_returning(item: &Cte) -> bool {
    match item.query.body.as_ref() {
        SetExpr::Insert(Ast::Insert(Insert { returning, .. }))
        | SetExpr::Update(Ast::Update(Update { returning, .. }))
        | SetExpr::Delete(Ast::Delete(Delete { returning, .. })) => returning.is_some(),
        _ => false,
    }
}

/// Returns the number of times that a part of a statement reads a table with the name of an item.
fn references(node: &impl Visit, item: &Cte) -> usize {
    struct References<'a> {
        name: &'a str,
        count: usize,
    }
    impl Visitor for References<'_> {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            if let TableFactor::Table { name: ObjectName(parts), args: None, .. } = factor
                && let [part] = parts.as_slice()
                && part.as_ident().is_some_and(|ident| same_name(&ident.value, self.name))
            {
                self.count += 1;
            }
            ControlFlow::Continue(())
        }
    }
    let mut found = References { name: &item.alias.name.value, count: 0 };
    let _ = visit(node, &mut found);
    found.count
}

/// `SELECT * FROM name`.
fn select_all(name: Vec<Ident>) -> Result<Query> {
    let statements = Parser::parse_sql(&GenericDialect, "SELECT * FROM a");
    let statement = statements.map_err(|error| Error::internal(error.to_string()))?.pop();
    let Some(Ast::Query(mut query)) = statement else { return Err(Error::internal("a SELECT is not a query")) };
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Select { from, .. } = select.as_mut()
        && let [from] = from.as_mut_slice()
        && let TableFactor::Table { name: table, .. } = &mut from.relation
    {
        *table = ObjectName::from(name);
        return Ok(*query);
    }
    Err(Error::internal("SELECT FROM has no table"))
}
