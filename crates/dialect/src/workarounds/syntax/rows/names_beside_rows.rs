//! `SELECT id + 1 AS id, unnest(tags) FROM t`: beside a function that returns rows, an expression may have the name of
//! a column. DataFusion computes such expressions in a step that also passes the columns of the SELECT list on, and
//! refuses the equal names. So the expression gets a name of its own, and `ORDER BY` its position. A nested query,
//! whose columns others name, becomes a subquery of one that gives the names back, and so does a side of a set
//! operation.
//!
//! No upstream issue known.

use super::rows_of_functions::{named, returns_rows};
use crate::text::tree_walk::{visit_expressions, visit_mut};
use crate::workarounds::syntax::forms::composed_functions::returns_rows_of_list;
use crate::workarounds::syntax::names::distinct_name::{distinct, shown};
use crate::workarounds::syntax::names::output_names::{name_of, text_of};
use crate::workarounds::syntax::{expression_of, has_answer, parsed_query};
use atsdb_core::name::same_name;
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, Statement, TableFactor, Value, VisitorMut,
};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// The name of the subquery that a nested query becomes.
const NAMELESS: &str = "nameless";

/// Gives such expressions of a statement names of their own.
pub(crate) fn name_beside_rows(statement: &mut Statement) -> Result<()> {
    match visit_mut(statement, &mut NamesBesideRows { is_outermost: has_answer(statement) }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct NamesBesideRows {
    /// Whether the next query is the one whose columns are those of an answer, which are shown without marks.
    is_outermost: bool,
}

impl VisitorMut for NamesBesideRows {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let is_outermost = std::mem::take(&mut self.is_outermost);
        if matches!(query.body.as_ref(), SetExpr::SetOperation { .. }) {
            return match rename_sides(&mut query.body) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            };
        }
        if !rename(query, is_outermost) || is_outermost {
            return ControlFlow::Continue(());
        }
        match with_names(query) {
            Ok(outer) => {
                *query = outer;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// Renames the expressions of the SELECTs that a set operation unites.
fn rename_sides(body: &mut SetExpr) -> Result<()> {
    match body {
        SetExpr::SetOperation { left, right, .. } => {
            rename_sides(left)?;
            rename_sides(right)
        }
        SetExpr::Select(select) if select.projection.iter().filter_map(expression_of).any(has_rows) => {
            let mut query = *parsed_query("SELECT 1")?;
            std::mem::swap(query.body.as_mut(), body);
            if rename(&mut query, false) {
                query = with_names(&mut query)?;
            }
            std::mem::swap(query.body.as_mut(), body);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Renames the expressions of a query, and returns whether there are any. Behind a `*` no position is known.
fn rename(query: &mut Query, is_answer: bool) -> bool {
    let SetExpr::Select(select) = query.body.as_mut() else { return false };
    let items = || select.projection.iter().filter_map(expression_of);
    if items().count() < select.projection.len() || !items().any(has_rows) {
        return false;
    }
    let columns = columns_of(select);
    let mut renamed: Vec<(String, usize)> = Vec::new();
    for (position, item) in select.projection.iter_mut().enumerate() {
        let Some((name, alias)) = name_of_item(item, position, is_answer) else { continue };
        if let Some(expr) = expression_of(item).filter(|expr| !has_rows(expr) && columns.contains(&name.to_lowercase()))
        {
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            renamed.push((name, position + 1));
        }
    }
    if let Some(OrderByKind::Expressions(orders)) = query.order_by.as_mut().map(|order| &mut order.kind) {
        for order in orders {
            let Expr::Identifier(name) = &order.expr else { continue };
            if let Some((_, position)) = renamed.iter().find(|(renamed, _)| same_name(renamed, &name.value)) {
                order.expr = Expr::value(Value::Number(position.to_string(), false));
            }
        }
    }
    !renamed.is_empty()
}

/// The name of an item that is no plain column, and an alias that no other item has. In an answer, a cast is shown as
/// it is written, and a call needs no alias, because DataFusion names it by its text.
fn name_of_item(item: &SelectItem, position: usize, is_answer: bool) -> Option<(String, Ident)> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => {
            Some((alias.value.clone(), Ident { span: alias.span, ..distinct(&alias.value, position) }))
        }
        SelectItem::UnnamedExpr(expr @ Expr::Cast { .. }) if is_answer => {
            Some((name_of(expr)?.value, distinct(&text_of(expr), position)))
        }
        SelectItem::UnnamedExpr(expr @ (Expr::Cast { .. } | Expr::Function(_))) if !is_answer => {
            let name = name_of(expr)?.value;
            let alias = distinct(&name, position);
            Some((name, alias))
        }
        _ => None,
    }
}

/// A query that selects the columns of another one by their names.
fn with_names(query: &mut Query) -> Result<Query> {
    let mut outer = *parsed_query("SELECT 1 FROM (SELECT 1)")?;
    let SetExpr::Select(inner) = query.body.as_mut() else { return Ok(outer) };
    let mut items = Vec::with_capacity(inner.projection.len());
    for (position, item) in inner.projection.iter_mut().enumerate() {
        if let SelectItem::UnnamedExpr(expr) = item {
            let name = name_of(expr).map_or_else(|| text_of(expr), |name| name.value);
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: distinct(&name, position) };
        }
        let SelectItem::ExprWithAlias { alias, .. } = item else { continue };
        let name = Ident::with_quote('"', shown(&alias.value));
        items.push(SelectItem::ExprWithAlias { expr: Expr::Identifier(alias.clone()), alias: name });
    }
    if let SetExpr::Select(select) = outer.body.as_mut() {
        select.projection = items;
        for from in &mut select.from {
            if let TableFactor::Derived { subquery, alias, .. } = &mut from.relation {
                std::mem::swap(subquery.as_mut(), query);
                *alias = Some(named(Ident::new(NAMELESS)));
            }
        }
    }
    Ok(outer)
}

/// The names of the columns that a SELECT list mentions, in lower case.
fn columns_of(select: &Select) -> HashSet<String> {
    let mut columns = HashSet::new();
    let _ = visit_expressions(&select.projection, |expr| {
        let name = match expr {
            Expr::Identifier(name) => Some(name),
            Expr::CompoundIdentifier(names) => names.last(),
            _ => None,
        };
        columns.extend(name.map(|name| name.value.to_lowercase()));
        ControlFlow::<()>::Continue(())
    });
    columns
}

/// Returns whether an expression calls a function that returns rows.
pub(crate) fn has_rows(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |inner| match inner {
        Expr::Function(call) if returns_rows(inner) || returns_rows_of_list(&call.name) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}
