//! Aggregates in a subquery over columns of the outer query alone: `SELECT k, (SELECT sum(o.x)) FROM o GROUP BY k`. By
//! the standard, and in PostgreSQL, such an aggregate is one of the outer query, which it makes a query over groups.
//! DataFusion computes it over the rows of the subquery.
//!
//! The groups of the outer query become a subquery in FROM, under the name of the relation that was there:
//! `SELECT k, (SELECT o."sum(o.x)") FROM (SELECT k, sum(o.x) AS "sum(o.x)" FROM o GROUP BY k) AS o`. So all other names
//! keep their meaning, and `HAVING` becomes `WHERE`. This is done in the SELECT list, `HAVING` and `ORDER BY` of a
//! query over one relation whose groups are columns. Other such aggregates stay as they are, and their plan is refused.
//!
//! No upstream issue known.

use super::groups::name_column;
use crate::text::relations::{name_of_relation, relations_of};
use crate::text::result_names::result_name;
use crate::text::tree_walk::{SelectVisitor, visit, visit_expressions, visit_mut, visit_selects_mut};
use crate::workarounds::syntax::names::aggregate_names::is_aggregate;
use crate::workarounds::syntax::names::distinct_name::distinct;
use crate::workarounds::syntax::names::named_tables::NamedTables;
use crate::workarounds::syntax::names::output_names::text_of;
use crate::workarounds::syntax::{expression_of, has_answer, parsed_query};
use atsdb_core::name::same_name;
use atsdb_core::{Error, Result, Table};
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, OrderBy, Query, Select, SelectItem, SetExpr, Statement, TableAlias, TableFactor,
    TableWithJoins, Visit, Visitor, VisitorMut,
};
use std::ops::ControlFlow;

/// Computes such aggregates in their queries, for all queries of a statement over these tables.
pub(crate) fn compute_outer_aggregates(statement: &mut Statement, tables: &[Table]) -> Result<()> {
    let has_answer = has_answer(statement);
    let mut visitor = OuterAggregates { tables: NamedTables::new(tables), has_answer, depth: 0 };
    match visit_selects_mut(statement, &mut visitor) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct OuterAggregates<'a> {
    tables: NamedTables<'a>,
    /// Whether the answer of the outermost query is that of the statement.
    has_answer: bool,
    /// The number of queries around the SELECT, with its own; one more in a statement that has no answer.
    depth: usize,
}

impl SelectVisitor for OuterAggregates<'_> {
    type Break = Error;

    fn enter_query(&mut self, query: &Query) {
        self.tables.hide(query);
    }

    fn visit_select(
        &mut self,
        select: &mut Select,
        order_by: Option<&mut OrderBy>,
        depth: usize,
    ) -> ControlFlow<Error> {
        self.depth = depth + usize::from(!self.has_answer);
        self.settle(select, order_by)
    }
}

impl OuterAggregates<'_> {
    fn settle(&self, select: &mut Select, order_by: Option<&mut OrderBy>) -> ControlFlow<Error> {
        let asks =
            has_query(&select.projection) || has_query(&select.having) || order_by.as_deref().is_some_and(has_query);
        if !asks {
            return ControlFlow::Continue(());
        }
        match self.over_groups(select, order_by.as_deref()) {
            Ok(Some((over_groups, order))) => {
                *select = over_groups;
                if let (Some(order_by), Some(order)) = (order_by, order) {
                    *order_by = order;
                }
                ControlFlow::Continue(())
            }
            Ok(None) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    /// The SELECT over the groups that a subquery in its FROM computes, and its order. `None` if no subquery in it has
    /// an aggregate of this SELECT, and where that is not known.
    fn over_groups(&self, select: &Select, order_by: Option<&OrderBy>) -> Result<Option<(Select, Option<OrderBy>)>> {
        let Some(outer) = self.relation_of(select) else { return Ok(None) };
        let Some(keys) = keys_of(select, &outer) else { return Ok(None) };
        if select.projection.iter().any(|item| expression_of(item).is_none()) {
            return Ok(None);
        }
        let (mut over_groups, mut order) = (select.clone(), order_by.cloned());
        let mut subquery = parsed_query("SELECT 1")?;
        let SetExpr::Select(groups) = subquery.body.as_mut() else { return Ok(None) };
        groups.from = std::mem::take(&mut over_groups.from);
        groups.selection = over_groups.selection.take();
        over_groups.group_by = GroupByExpr::Expressions(Vec::new(), Vec::new());

        let mut columns = AggregateColumns {
            outer,
            tables: self.tables.clone(),
            scopes: Vec::new(),
            depth: 0,
            calls: Vec::new(),
            of_subqueries: false,
        };
        for (position, item) in over_groups.projection.iter_mut().enumerate() {
            self.settle_item(item, position, &mut columns);
        }
        let _ = visit_mut(&mut over_groups, &mut columns);
        if let Some(order) = &mut order {
            let _ = visit_mut(order, &mut columns);
        }
        if !columns.of_subqueries {
            return Ok(None);
        }
        let aggregates = columns.calls.into_iter().enumerate().map(|(position, call)| {
            let alias = name_of_aggregate(&call, position);
            SelectItem::ExprWithAlias { expr: call, alias }
        });
        groups.projection = keys.iter().cloned().map(SelectItem::UnnamedExpr).chain(aggregates).collect();
        groups.group_by = GroupByExpr::Expressions(keys, Vec::new());
        let alias = TableAlias { explicit: true, name: columns.outer.name, columns: Vec::new(), at: None };
        let relation = TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None };
        over_groups.from = vec![TableWithJoins { relation, joins: Vec::new() }];
        over_groups.selection = over_groups.having.take();
        Ok(Some((over_groups, order)))
    }

    /// Replaces the aggregates of an item. An item without an alias keeps its name.
    fn settle_item(&self, item: &mut SelectItem, position: usize, columns: &mut AggregateColumns<'_>) {
        match item {
            SelectItem::ExprWithAlias { expr, .. } => {
                let _ = visit_mut(expr, columns);
            }
            SelectItem::UnnamedExpr(expr) => {
                let mut settled = expr.clone();
                let _ = visit_mut(&mut settled, columns);
                if settled != *expr {
                    // In an answer, it is shown by its text.
                    let name = result_name(expr).filter(|_| self.depth > 1);
                    let alias = name.unwrap_or_else(|| distinct(&text_of(expr), position));
                    *item = SelectItem::ExprWithAlias { expr: settled, alias };
                }
            }
            _ => {}
        }
    }

    /// The only relation of a SELECT; `None` if there are several, or if it has no name.
    fn relation_of(&self, select: &Select) -> Option<OuterRelation> {
        let [TableWithJoins { relation, joins }] = select.from.as_slice() else { return None };
        if !joins.is_empty() {
            return None;
        }
        let name = name_of_relation(relation)?.clone();
        Some(OuterRelation { name, columns: columns_of(&select.from, &self.tables), is_outermost: self.depth == 1 })
    }
}

/// The relation of the query whose subqueries are visited.
struct OuterRelation {
    name: Ident,
    /// Its columns, if they are known.
    columns: Option<Vec<String>>,
    /// Whether no other query is around this one.
    is_outermost: bool,
}

/// The columns that a SELECT groups by, each once; `None` if it groups by something else, or by what may be an alias.
fn keys_of(select: &Select, outer: &OuterRelation) -> Option<Vec<Expr>> {
    let GroupByExpr::Expressions(groups, modifiers) = &select.group_by else { return None };
    if !modifiers.is_empty() {
        return None;
    }
    let is_alias = |name: &Ident| {
        select.projection.iter().any(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => same_name(&alias.value, &name.value),
            _ => false,
        })
    };
    let (mut keys, mut names) = (Vec::with_capacity(groups.len()), Vec::<String>::new());
    for group in groups {
        let mut key = group.clone();
        name_column(&mut key, &select.projection);
        let name = match &key {
            Expr::Identifier(name) if outer.has_known(name) || !is_alias(name) => name,
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [relation, name] if same_name(&relation.value, &outer.name.value) => name,
                _ => return None,
            },
            _ => return None,
        };
        if !names.iter().any(|known| same_name(known, &name.value)) {
            names.push(name.value.clone());
            keys.push(key);
        }
    }
    Some(keys)
}

impl OuterRelation {
    /// Returns whether it is known to have a column of this name.
    fn has_known(&self, name: &Ident) -> bool {
        self.columns.iter().flatten().any(|column| same_name(column, &name.value))
    }
}

/// The columns of all relations of a FROM; `None` if they are not all those of tables.
fn columns_of(from: &[TableWithJoins], tables: &NamedTables<'_>) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for relation in relations_of(from) {
        let (_, columns) = tables.relation(relation)?;
        names.extend(columns.into_iter().map(|column| column.value));
    }
    Some(names)
}

/// The names in a SELECT that hide equal names of the queries around it.
struct SelectNames {
    /// The names of the relations; `None` if one has none.
    relations: Option<Vec<String>>,
    /// The names of their columns, if all are known.
    columns: Option<Vec<String>>,
}

impl SelectNames {
    fn hides(&self, relation: Option<&Ident>, column: &Ident) -> bool {
        let (names, name) = match relation {
            Some(relation) => (&self.relations, relation),
            None => (&self.columns, column),
        };
        names.as_ref().is_none_or(|names| names.iter().any(|hidden| same_name(hidden, &name.value)))
    }
}

/// Replaces the aggregates of a query by columns of its groups, also those in its subqueries.
struct AggregateColumns<'a> {
    outer: OuterRelation,
    tables: NamedTables<'a>,
    /// The SELECTs around the expression, inside of the query.
    scopes: Vec<SelectNames>,
    /// The number of subqueries that the visitor is inside of.
    depth: usize,
    /// The aggregates, each once.
    calls: Vec<Expr>,
    /// Whether one of them was in a subquery.
    of_subqueries: bool,
}

impl VisitorMut for AggregateColumns<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.tables.hide(query);
        self.depth += 1;
        // The ORDER BY of a query sees the relations of its SELECT.
        let from = match query.body.as_ref() {
            SetExpr::Select(select) => select.from.as_slice(),
            _ => &[],
        };
        self.scopes.push(self.scope_of(from));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.scopes.pop();
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.scopes.push(self.scope_of(&select.from));
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<()> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let is_in_subquery = self.depth > 0;
        let is_call = matches!(expr, Expr::Function(call) if is_aggregate(call));
        if is_call && (!is_in_subquery || self.is_of_outer_query(expr)) {
            self.of_subqueries |= is_in_subquery;
            *expr = self.column_of(expr);
        }
        ControlFlow::Continue(())
    }
}

impl AggregateColumns<'_> {
    fn scope_of(&self, from: &[TableWithJoins]) -> SelectNames {
        let relations = relations_of(from).map(|relation| name_of_relation(relation).map(|name| name.value.clone()));
        SelectNames { relations: relations.collect(), columns: columns_of(from, &self.tables) }
    }

    /// Returns whether a call mentions columns, and only those of the outer query.
    fn is_of_outer_query(&self, call: &Expr) -> bool {
        let mut has_columns = false;
        let outcome = visit_expressions(call, |expr| {
            let is_outer = match expr {
                Expr::Identifier(name) => self.is_outer(None, name),
                Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                    [relation, name] => self.is_outer(Some(relation), name),
                    _ => false,
                },
                _ => return ControlFlow::Continue(()),
            };
            has_columns = true;
            if is_outer { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        has_columns && outcome.is_continue() && !has_query(call)
    }

    fn is_outer(&self, relation: Option<&Ident>, column: &Ident) -> bool {
        if self.scopes.iter().any(|scope| scope.hides(relation, column)) {
            return false;
        }
        match relation {
            Some(relation) => same_name(&relation.value, &self.outer.name.value),
            // A column that no other relation can have is the outermost query's.
            None => self.outer.has_known(column) || (self.outer.columns.is_none() && self.outer.is_outermost),
        }
    }

    /// The column of the groups that an aggregate becomes.
    fn column_of(&mut self, call: &Expr) -> Expr {
        let position = match self.calls.iter().position(|known| known == call) {
            Some(position) => position,
            None => {
                self.calls.push(call.clone());
                self.calls.len() - 1
            }
        };
        Expr::CompoundIdentifier(vec![self.outer.name.clone(), name_of_aggregate(call, position)])
    }
}

/// The name of the column of an aggregate: its text, made unique.
fn name_of_aggregate(call: &Expr, position: usize) -> Ident {
    distinct(&text_of(call), position)
}

/// Returns whether a part of a syntax tree has a query.
fn has_query(part: &impl Visit) -> bool {
    visit(part, &mut AnyQuery).is_break()
}

struct AnyQuery;

impl Visitor for AnyQuery {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}
