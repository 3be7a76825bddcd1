//! Names in `ORDER BY`. A name that stands alone means a column of the answer, and casts and calls have the names of
//! their column and of their function. A name inside an expression means a column of the tables. DataFusion looks for
//! either among the aliases first, and gives casts and calls other names. So an alias that hides a column from an
//! expression gets a name of its own, and a name alone becomes the position of its cast or call.
//!
//! No upstream issue known.

use super::distinct_name::distinct;
use super::named_tables::NamedTables;
use super::output_names::{name_of, text_of};
use crate::text::errors::not_supported;
use crate::text::tree_walk::{visit_expressions, visit_mut};
use atsdb_core::name::same_name;
use atsdb_core::{Error, Result, Table};
use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, Ident, OrderBy, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, Statement,
    TableFactor, Value, VisitorMut,
};
use std::ops::ControlFlow;

/// Settles the names in the `ORDER BY`s of a statement over these tables.
pub(super) fn settle_order_names(statement: &mut Statement, tables: &[Table]) -> Result<()> {
    let is_answer = matches!(statement, Statement::Query(_) | Statement::Copy { .. } | Statement::Explain { .. });
    let depth = usize::from(!is_answer);
    match visit_mut(statement, &mut OrderNames { tables: NamedTables::new(tables), depth }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct OrderNames<'a> {
    tables: NamedTables<'a>,
    /// The number of queries that the visitor is inside of. One more if something refers to the outermost one's names.
    depth: usize,
}

impl VisitorMut for OrderNames<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.tables.hide(query);
        self.depth += 1;
        match self.settle(query) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

impl OrderNames<'_> {
    fn settle(&self, query: &mut Query) -> Result<()> {
        let has_limit = query.limit_clause.is_some() || query.fetch.is_some();
        let Query { body, order_by: Some(OrderBy { kind: OrderByKind::Expressions(orders), .. }), .. } = query else {
            return Ok(());
        };
        let SetExpr::Select(select) = body.as_mut() else { return Ok(()) };
        count_unnamed(orders, select);
        let picks_rows = has_limit || matches!(select.distinct, Some(Distinct::On(_)));
        for position in self.hiding(orders, select) {
            let item = &mut select.projection[position];
            let Some(name) = name_that_hides(item) else { continue };
            if self.depth > 1 {
                if picks_rows {
                    let what = format!("a subquery's ORDER BY of an expression in which {name} is a table's column");
                    return Err(not_supported(what).with_hint(format!("give the item {name} another name")));
                }
                continue;
            }
            let (expr, alias) = match item {
                SelectItem::ExprWithAlias { expr, alias } => {
                    (expr.clone(), Ident { span: alias.span, ..distinct(&alias.value, position) })
                }
                SelectItem::UnnamedExpr(expr) => (expr.clone(), distinct(&text_of(expr), position)),
                _ => continue,
            };
            *item = SelectItem::ExprWithAlias { expr, alias: alias.clone() };
            let first: &mut [Expr] = match &mut select.distinct {
                Some(Distinct::On(exprs)) => exprs,
                _ => &mut [],
            };
            for expr in orders.iter_mut().map(|order| &mut order.expr).chain(first) {
                if alone(expr).is_some_and(|other| same_name(&other.value, &name.value)) {
                    *expr = Expr::Identifier(alias.clone());
                }
            }
        }
        Ok(())
    }

    /// The positions of the items whose names hide a column from an expression of `ORDER BY`.
    fn hiding(&self, orders: &[OrderByExpr], select: &Select) -> Vec<usize> {
        let exprs = orders.iter().map(|order| &order.expr).filter(|expr| alone(expr).is_none());
        let columns: Vec<ColumnName> = exprs.flat_map(columns_in).collect();
        let hides = |item: &SelectItem| {
            let Some(name) = name_that_hides(item) else { return false };
            columns.iter().any(|column| {
                same_name(&column.name, &name.value) && (column.is_qualified || self.reads(select, &column.name))
            })
        };
        let positions = select.projection.iter().enumerate().filter(|(_, item)| hides(item));
        positions.map(|(position, _)| position).collect()
    }

    /// Whether a column of this name is known to be in the tables of a SELECT. Its items and its condition mention no
    /// other columns.
    fn reads(&self, select: &Select, name: &str) -> bool {
        let items = select.projection.iter().filter_map(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
            _ => None,
        });
        let mentions = |expr: &Expr| columns_in(expr).iter().any(|column| same_name(&column.name, name));
        let mut relations = select.from.iter().flat_map(|from| {
            let joined = from.joins.iter().map(|join| &join.relation);
            joined.chain(std::iter::once(&from.relation))
        });
        items.chain(&select.selection).any(mentions) || relations.any(|relation| self.shows(relation, name))
    }

    fn shows(&self, relation: &TableFactor, name: &str) -> bool {
        let (TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. }) = relation else { return false };
        match (alias, relation) {
            (Some(alias), _) if !alias.columns.is_empty() => {
                alias.columns.iter().any(|column| same_name(&column.name.value, name))
            }
            (_, TableFactor::Table { name: table, args: None, .. }) => {
                let columns = self.tables.columns_of(table).unwrap_or_default();
                columns.into_iter().any(|column| same_name(column, name))
            }
            _ => false,
        }
    }
}

/// The name that hides a column of this name: an alias, or that of a cast, which [`headings`](crate::parse::headings)
/// makes an alias. A column does not hide itself.
fn name_that_hides(item: &SelectItem) -> Option<Ident> {
    match item {
        SelectItem::ExprWithAlias { expr, alias } => Some(alias.clone()).filter(|alias| !is_column(expr, alias)),
        SelectItem::UnnamedExpr(expr @ Expr::Cast { .. }) => name_of(expr),
        _ => None,
    }
}

/// Writes a name alone as the position of the only item that it means, if that is a cast or a call, and an expression
/// that is an item as the position of it.
fn count_unnamed(orders: &mut [OrderByExpr], select: &Select) {
    let name = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) => name_of(expr),
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.clone()),
        _ => None,
    };
    let has_star = select.projection.iter().any(|item| {
        matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) | SelectItem::ExprWithAliases { .. })
    });
    if has_star || matches!(select.distinct, Some(Distinct::On(_))) {
        return;
    }
    for order in orders {
        let Some(wanted) = alone(&order.expr) else {
            if let Some(position) = select.projection.iter().position(|item| is_item(item, &order.expr)) {
                order.expr = Expr::value(Value::Number((position + 1).to_string(), false));
            }
            continue;
        };
        let is_meant = |item: &SelectItem| name(item).is_some_and(|name| same_name(&name.value, &wanted.value));
        let mut meant = select.projection.iter().enumerate().filter(|(_, item)| is_meant(item));
        if let (Some((position, SelectItem::UnnamedExpr(expr))), None) = (meant.next(), meant.next())
            && !is_column(expr, wanted)
        {
            order.expr = Expr::value(Value::Number((position + 1).to_string(), false));
        }
    }
}

/// Whether an item is this expression. A number is a position already.
fn is_item(item: &SelectItem, wanted: &Expr) -> bool {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            !matches!(wanted, Expr::Value(_)) && expr == wanted
        }
        _ => false,
    }
}

/// A name of a column in an expression.
struct ColumnName {
    name: String,
    is_qualified: bool,
}

/// The columns that an expression mentions; none if a subquery is part of it.
fn columns_in(expr: &Expr) -> Vec<ColumnName> {
    let mut columns = Vec::new();
    let walked = visit_expressions(expr, |inner| {
        match inner {
            Expr::Identifier(name) => columns.push(ColumnName { name: name.value.clone(), is_qualified: false }),
            Expr::CompoundIdentifier(names) => {
                let name = names.last().map(|name| name.value.clone());
                columns.extend(name.map(|name| ColumnName { name, is_qualified: true }));
            }
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => return ControlFlow::Break(()),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    if walked.is_break() { Vec::new() } else { columns }
}

/// The name that an expression consists of.
fn alone(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Identifier(name) => Some(name),
        Expr::Nested(inner) => alone(inner),
        _ => None,
    }
}

/// Whether an expression is a column of this name.
fn is_column(expr: &Expr, name: &Ident) -> bool {
    let column = match expr {
        Expr::CompoundIdentifier(names) => names.last(),
        other => alone(other),
    };
    column.is_some_and(|column| same_name(&column.value, &name.value))
}
