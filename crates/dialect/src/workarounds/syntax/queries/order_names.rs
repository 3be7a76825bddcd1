//! Names in `ORDER BY`. A name that stands alone means a column of the answer, and casts and calls have the names of
//! their column and of their function. A name inside an expression means a column of the tables. DataFusion looks for
//! either among the aliases first, and gives casts and calls other names. So an alias that hides a column from an
//! expression gets a name of its own, and a name alone becomes the position of its cast or call. Beside groups,
//! aggregates and `DISTINCT ON`, DataFusion finds a position only if the item has an alias, so such an item gets one.
//!
//! No upstream issue known.

use crate::text::errors::not_supported;
use crate::text::result_names::result_name;
use crate::text::tree_walk::{visit_expressions, visit_expressions_mut, visit_mut};
use crate::workarounds::syntax::names::aggregate_names::is_aggregate;
use crate::workarounds::syntax::names::distinct_name::distinct;
use crate::workarounds::syntax::names::output_names::{name_of, text_of};
use crate::workarounds::syntax::names::shown_columns::{ShownColumns, shown_name};
use crate::workarounds::syntax::{has_free_names, query_body};
use atsdb_core::name::same_name;
use atsdb_core::{Error, Result, Table};
use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Ident, ObjectNamePart, OrderBy, OrderByExpr, OrderByKind, Query, Select, SelectItem,
    SetExpr, Statement, TableFactor, Value, ValueWithSpan, VisitorMut,
};
use std::ops::ControlFlow;

/// Settles the names in the `ORDER BY`s of a statement over these tables.
pub(crate) fn settle_order_names(statement: &mut Statement, tables: &[Table]) -> Result<()> {
    let depth = usize::from(!has_free_names(statement));
    match visit_mut(statement, &mut OrderNames { columns: ShownColumns::new(tables), depth }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct OrderNames<'a> {
    columns: ShownColumns<'a>,
    /// The number of queries that the visitor is inside of. One more if something refers to the outermost one's names.
    depth: usize,
}

impl VisitorMut for OrderNames<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.columns.hide(query);
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
        name_counted(orders, select, self.depth > 1);
        let hiding = self.hiding(orders, select);
        if self.depth > 1 {
            // Without a limit, the order of a subquery means nothing.
            let picks_rows = has_limit || matches!(select.distinct, Some(Distinct::On(_)));
            return if picks_rows && !hiding.is_empty() { enclose(query, &hiding) } else { Ok(()) };
        }
        for position in hiding {
            let item = &mut select.projection[position];
            let Some(name) = name_that_hides(item) else { continue };
            let (expr, alias) = match item {
                SelectItem::ExprWithAlias { expr, alias } => {
                    (expr.clone(), Ident { span: alias.span, ..distinct(&alias.value, position) })
                }
                SelectItem::UnnamedExpr(expr) => (expr.clone(), distinct(&text_of(expr), position)),
                _ => continue,
            };
            *item = SelectItem::ExprWithAlias { expr, alias: alias.clone() };
            rename(orders, &mut select.distinct, |other| same_name(&other.value, &name.value).then(|| alias.clone()));
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

    /// Returns whether a column of this name is known to be in the tables of a SELECT. Its items and its condition
    /// mention no other columns.
    fn reads(&self, select: &Select, name: &str) -> bool {
        let items = select.projection.iter().filter_map(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
            _ => None,
        });
        let mentions = |expr: &Expr| columns_in(expr).iter().any(|column| same_name(&column.name, name));
        items.chain(&select.selection).any(mentions) || self.columns.are_in(select, name)
    }
}

/// Encloses a query in one that gives its columns their names. In the query itself, the items at some positions get
/// others, which hide nothing, and so do items without aliases.
fn enclose(query: &mut Query, hiding: &[usize]) -> Result<()> {
    let Query { body, order_by: Some(OrderBy { kind: OrderByKind::Expressions(orders), .. }), .. } = query else {
        return Ok(());
    };
    let SetExpr::Select(select) = body.as_mut() else { return Ok(()) };
    let (mut shown, mut names) = (Vec::new(), Vec::new());
    for (position, item) in select.projection.iter_mut().enumerate() {
        let (expr, name) = match &*item {
            SelectItem::ExprWithAlias { expr, alias } => (expr.clone(), alias.clone()),
            SelectItem::UnnamedExpr(expr) => {
                (expr.clone(), result_name(expr).unwrap_or_else(|| Ident::with_quote('"', text_of(expr))))
            }
            _ => {
                let what = "* in a subquery with LIMIT whose ORDER BY has an expression with a column's name";
                return Err(not_supported(what).with_hint("name the columns, or choose another alias"));
            }
        };
        let keeps_name = matches!(item, SelectItem::ExprWithAlias { .. }) && !hiding.contains(&position);
        let inner = if keeps_name { name.clone() } else { distinct(&name.value, position) };
        shown.push(SelectItem::ExprWithAlias { expr: Expr::Identifier(inner.clone()), alias: name.clone() });
        *item = SelectItem::ExprWithAlias { expr, alias: inner.clone() };
        names.push((name, inner));
    }
    rename(orders, &mut select.distinct, |other| {
        let named = names.iter().find(|(name, _)| same_name(&name.value, &other.value));
        named.map(|(_, inner)| inner.clone())
    });
    let mut enclosing = query_body("SELECT * FROM (SELECT 1) AS \"\u{1}ordered\"")?;
    if let SetExpr::Select(select) = &mut enclosing {
        select.projection = shown;
        if let Some(TableFactor::Derived { subquery, .. }) = select.from.first_mut().map(|from| &mut from.relation) {
            std::mem::swap(&mut subquery.body, &mut query.body);
            subquery.order_by = query.order_by.take();
            subquery.limit_clause = query.limit_clause.take();
            subquery.fetch = query.fetch.take();
        }
    }
    *query.body = enclosing;
    Ok(())
}

/// Replaces the names that stand alone in `ORDER BY` and `DISTINCT ON`.
fn rename(orders: &mut [OrderByExpr], distinct: &mut Option<Distinct>, other_name: impl Fn(&Ident) -> Option<Ident>) {
    let first: &mut [Expr] = match distinct {
        Some(Distinct::On(exprs)) => exprs,
        _ => &mut [],
    };
    for expr in orders.iter_mut().map(|order| &mut order.expr).chain(first) {
        if let Some(name) = alone(expr).and_then(&other_name) {
            *expr = Expr::Identifier(name);
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

/// Writes a name alone as the position of the only item that it means, if that is not a column, and an expression that
/// is an item as the position of it. In `DISTINCT ON` and beside it, only names.
fn count_unnamed(orders: &mut [OrderByExpr], select: &mut Select) {
    if has_star(select) {
        return;
    }
    let mut distinct = select.distinct.take();
    let number = |position: usize| Expr::value(Value::Number((position + 1).to_string(), false));
    for order in orders {
        let position = match alone(&order.expr) {
            Some(wanted) => position_of(wanted, select),
            None if matches!(distinct, Some(Distinct::On(_))) => None,
            None => select.projection.iter().position(|item| is_item(item, &order.expr, select)),
        };
        if let Some(position) = position {
            order.expr = number(position);
        }
    }
    if let Some(Distinct::On(exprs)) = &mut distinct {
        for expr in exprs {
            if let Some(position) = alone(expr).and_then(|wanted| position_of(wanted, select)) {
                *expr = number(position);
            }
        }
    }
    select.distinct = distinct;
}

/// The position of the only item that a name means; `None` if that is a column.
pub(super) fn position_of(wanted: &Ident, select: &Select) -> Option<usize> {
    let name = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) => result_name(expr),
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.clone()),
        _ => None,
    };
    let is_meant = |item: &SelectItem| name(item).is_some_and(|name| same_name(&name.value, &wanted.value));
    let mut meant = select.projection.iter().enumerate().filter(|(_, item)| is_meant(item));
    match (meant.next(), meant.next()) {
        (Some((position, SelectItem::UnnamedExpr(expr))), None) if !is_column(expr, wanted) => Some(position),
        _ => None,
    }
}

/// Names the items that `ORDER BY` counts in a SELECT with groups, aggregates or `DISTINCT ON`: in a subquery as
/// PostgreSQL does, and otherwise by their text.
fn name_counted(orders: &[OrderByExpr], select: &mut Select, is_nested: bool) {
    // What a number after a star counts is not known.
    let known = select.projection.iter().take_while(|item| !is_star(item)).count();
    if !has_groups(select) && !matches!(select.distinct, Some(Distinct::On(_))) {
        return;
    }
    let name = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) => name_of(expr),
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.clone()),
        _ => None,
    };
    let names: Vec<Ident> = select.projection.iter().filter_map(name).collect();
    for position in orders.iter().filter_map(|order| counted(&order.expr)).filter(|position| *position < known) {
        let Some(item) = select.projection.get_mut(position) else { continue };
        let expr = match item {
            // A column and a cast have names already.
            SelectItem::UnnamedExpr(Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Cast { .. }) => continue,
            SelectItem::UnnamedExpr(expr) => expr.clone(),
            _ => continue,
        };
        let is_alone = |name: &Ident| names.iter().filter(|other| same_name(&other.value, &name.value)).count() == 1;
        let alias = match name_of(&expr).filter(|_| is_nested) {
            Some(name) if is_alone(&name) => name,
            Some(name) => distinct(&name.value, position),
            None => distinct(&text_of(&expr), position),
        };
        *item = SelectItem::ExprWithAlias { expr, alias };
    }
}

/// The position of the item that a number in `ORDER BY` counts.
fn counted(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => {
            digits.parse::<usize>().ok().and_then(|number| number.checked_sub(1))
        }
        _ => None,
    }
}

fn has_star(select: &Select) -> bool {
    select.projection.iter().any(is_star)
}

fn is_star(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) | SelectItem::ExprWithAliases { .. })
}

/// Returns whether the rows of a SELECT are groups that it names, or are computed by an aggregate in its items.
fn has_groups(select: &Select) -> bool {
    let aggregates = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            let found = visit_expressions(expr, |inner| match inner {
                Expr::Function(call) if is_aggregate(call) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            });
            found.is_break()
        }
        _ => false,
    };
    match &select.group_by {
        GroupByExpr::Expressions(groups, _) => !groups.is_empty() || select.projection.iter().any(aggregates),
        GroupByExpr::All(_) => false,
    }
}

/// Returns whether an item is this expression. A number is a position already.
fn is_item(item: &SelectItem, wanted: &Expr, select: &Select) -> bool {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            !matches!(wanted, Expr::Value(_)) && (expr == wanted || plain(expr, select) == plain(wanted, select))
        }
        _ => false,
    }
}

/// An expression in a form in which it can be compared with others: without parentheses, names without case and quotes,
/// and columns without the name of their relation if there is only one. An expression with a subquery stays, because
/// names mean something else in it.
pub(crate) fn plain(expr: &Expr, select: &Select) -> Expr {
    let has_subquery = visit_expressions(expr, |inner| match inner {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    let mut plain = expr.clone();
    if has_subquery.is_break() {
        return plain;
    }
    let relation = match select.from.as_slice() {
        [from] if from.joins.is_empty() => shown_name(&from.relation),
        _ => None,
    };
    let plain_name = |name: &Ident| Ident::new(name.value.to_lowercase());
    let _ = visit_expressions_mut(&mut plain, |inner| {
        match inner {
            Expr::Nested(bare) => *inner = std::mem::replace(bare.as_mut(), Expr::value(Value::Null)),
            Expr::Identifier(name) => *name = plain_name(name),
            Expr::CompoundIdentifier(names) => match names.as_slice() {
                [table, column] if relation.is_some_and(|relation| same_name(&relation.value, &table.value)) => {
                    *inner = Expr::Identifier(plain_name(column));
                }
                _ => names.iter_mut().for_each(|name| *name = plain_name(name)),
            },
            Expr::Function(call) => {
                if let [ObjectNamePart::Identifier(name)] = call.name.0.as_mut_slice() {
                    *name = plain_name(name);
                }
            }
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
    plain
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

/// Returns whether an expression is a column of this name.
fn is_column(expr: &Expr, name: &Ident) -> bool {
    let column = match expr {
        Expr::CompoundIdentifier(names) => names.last(),
        other => alone(other),
    };
    column.is_some_and(|column| same_name(&column.value, &name.value))
}
