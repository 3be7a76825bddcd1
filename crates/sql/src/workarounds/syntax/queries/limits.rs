//! Limits of an answer: `FETCH FIRST n ROWS`, also `WITH TIES`, and a `LIMIT` or `OFFSET` given by a subquery.
//! DataFusion only supports numbers in `LIMIT` and `OFFSET`; the rest becomes a condition on `row_number` or `rank`.
//! After `DISTINCT`, `UNION` and the like, the rows are those of a subquery.
//!
//! Waits for [#17716](https://github.com/apache/datafusion/issues/17716) (`FETCH`); for subqueries no upstream issue is
//! known.

use crate::text::errors::{not_supported, sql_error};
use crate::text::tree_walk::visit_expressions;
use crate::workarounds::syntax::forms::composed_functions::filled;
use crate::workarounds::syntax::{binary, expression, query_body, set_first_argument};
use atsdb_core::Result;
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Fetch, Function, Ident, LimitClause, OrderBy, OrderByKind, Query, Select, SelectItem,
    SetExpr, TableFactor, Value, ValueWithSpan, WindowType,
};
use std::ops::ControlFlow;

/// Rewrites the limits of a query.
pub(crate) fn settle_limits(query: &mut Query) -> Result<()> {
    if let Some(Fetch { with_ties, percent, quantity }) = query.fetch.take() {
        if percent {
            return Err(not_supported("FETCH FIRST ... PERCENT").with_hint("write LIMIT with a number of rows"));
        }
        let quantity = match quantity {
            Some(quantity) => quantity,
            None => expression("1")?,
        };
        let offset = match query.limit_clause.take() {
            None => None,
            Some(LimitClause::LimitOffset { limit: None, offset, .. }) => offset,
            Some(_) => return Err(sql_error("a query cannot have both LIMIT and FETCH").with_hint("keep one of them")),
        };
        if with_ties {
            return limit_ranks(query, quantity, offset.map(|offset| offset.value));
        }
        query.limit_clause = Some(LimitClause::LimitOffset { limit: Some(quantity), offset, limit_by: Vec::new() });
    }
    if query.limit_clause.as_ref().is_some_and(asks) {
        return limit_numbers(query);
    }
    match &mut query.limit_clause {
        Some(LimitClause::LimitOffset { limit, offset, .. }) => {
            limit.iter_mut().try_for_each(as_integer)?;
            offset.iter_mut().map(|offset| &mut offset.value).try_for_each(as_integer)
        }
        _ => Ok(()),
    }
}

/// Casts what is computed, texts and numbers with a point, such as `1.5 * 2`.
fn as_integer(count: &mut Expr) -> Result<()> {
    let is_integer = match count {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.bytes().all(|digit| digit.is_ascii_digit()),
            Value::SingleQuotedString(_) => false,
            _ => true,
        },
        Expr::BinaryOp { .. } => false,
        _ => true,
    };
    if !is_integer {
        let number = std::mem::replace(count, Expr::value(Value::Null));
        *count = filled("CAST(a AS BIGINT)", &[&number])?;
    }
    Ok(())
}

fn asks(clause: &LimitClause) -> bool {
    let found = visit_expressions(clause, |expr| match expr {
        Expr::Subquery(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

fn limit_ranks(query: &mut Query, quantity: Expr, offset: Option<Expr>) -> Result<()> {
    if query.order_by.is_none() {
        return Err(sql_error("WITH TIES needs ORDER BY"));
    }
    let what = "WITH TIES";
    enclose(query, what)?;
    let rank = window("rank() OVER ()", query, what)?;
    let Some(offset) = offset else { return add_condition(query, binary(rank, BinaryOperator::LtEq, quantity), what) };
    let number = window("row_number() OVER ()", query, what)?;
    let [quantity, offset] = [quantity, offset].map(|count| Expr::Nested(Box::new(count)));
    // Without it, rows with the rank of the last skipped one would be in an answer of no rows.
    add_condition(query, binary(quantity.clone(), BinaryOperator::Gt, expression("0")?), what)?;
    add_condition(query, binary(number, BinaryOperator::Gt, offset.clone()), what)?;
    let last = binary(offset, BinaryOperator::Plus, quantity);
    add_condition(query, binary(rank, BinaryOperator::LtEq, last), what)
}

fn limit_numbers(query: &mut Query) -> Result<()> {
    let what = "LIMIT with a subquery";
    enclose(query, what)?;
    let (limit, offset) = match query.limit_clause.take() {
        Some(LimitClause::LimitOffset { limit, offset, .. }) => (limit, offset.map(|offset| offset.value)),
        Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
        None => return Ok(()),
    };
    let number = window("row_number() OVER ()", query, what)?;
    // NULL means no limit, and no offset.
    let mut skipped = expression("coalesce(NULL, 0)")?;
    match offset {
        Some(offset) => set_first_argument(&mut skipped, offset),
        None => skipped = expression("0")?,
    }
    add_condition(query, binary(number.clone(), BinaryOperator::Gt, skipped.clone()), what)?;
    let Some(limit) = limit else { return Ok(()) };
    let last = binary(Expr::Nested(Box::new(limit)), BinaryOperator::Plus, skipped);
    let mut condition = expression("coalesce(NULL, TRUE)")?;
    set_first_argument(&mut condition, binary(number, BinaryOperator::LtEq, last));
    add_condition(query, condition, what)
}

/// Makes a subquery of a query whose rows cannot be numbered where they are selected.
fn enclose(query: &mut Query, what: &str) -> Result<()> {
    if matches!(query.body.as_ref(), SetExpr::Select(select) if select.distinct.is_none()) {
        return Ok(());
    }
    let first = first_select(&query.body).ok_or_else(|| unsuited(what))?;
    let names = first.projection.iter().map(name_of).collect::<Option<Vec<Ident>>>().ok_or_else(|| unsuited(what))?;
    let is_repeated =
        |(at, name): (usize, &Ident)| names[..at].iter().any(|other| same_name(&other.value, &name.value));
    if names.iter().enumerate().any(is_repeated) {
        return Err(unsuited(what));
    }
    match query.order_by.as_mut().map(|order| &mut order.kind) {
        None => {}
        Some(OrderByKind::Expressions(order)) => {
            for by in order {
                let position = match &by.expr {
                    Expr::Identifier(name) => names.iter().position(|other| same_name(&other.value, &name.value)),
                    Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => {
                        digits.parse::<usize>().ok().and_then(|number| number.checked_sub(1))
                    }
                    other => first.projection.iter().position(|item| expression_of(item) == Some(other)),
                };
                let name = position.and_then(|position| names.get(position)).ok_or_else(|| unsuited(what))?;
                by.expr = Expr::Identifier(name.clone());
            }
        }
        Some(_) => return Err(unsuited(what)),
    }
    let mut body = query_body("SELECT * FROM (SELECT 1) AS \"\u{1}limited\"")?;
    if let SetExpr::Select(select) = &mut body {
        select.projection = names.into_iter().map(|name| SelectItem::UnnamedExpr(Expr::Identifier(name))).collect();
        if let Some(TableFactor::Derived { subquery, .. }) = select.from.first_mut().map(|from| &mut from.relation) {
            std::mem::swap(&mut subquery.body, &mut query.body);
        }
    }
    *query.body = body;
    Ok(())
}

/// The SELECT that names the columns.
fn first_select(body: &SetExpr) -> Option<&Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOperation { left, .. } => first_select(left),
        SetExpr::Query(query) => first_select(&query.body),
        _ => None,
    }
}

fn expression_of(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// The name of a column that has one.
fn name_of(item: &SelectItem) -> Option<Ident> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.clone()),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name.clone()),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(names)) => names.last().cloned(),
        _ => None,
    }
}

/// Applies a window function to the rows of the query, in the order of its ORDER BY.
fn window(text: &str, query: &Query, what: &str) -> Result<Expr> {
    let mut call = expression(text)?;
    let Some(OrderBy { kind: OrderByKind::Expressions(order), .. }) = &query.order_by else { return Ok(call) };
    let SetExpr::Select(select) = query.body.as_ref() else { return Err(unsuited(what)) };
    if let Expr::Function(Function { over: Some(WindowType::WindowSpec(spec)), .. }) = &mut call {
        spec.order_by = order.clone();
        for by in &mut spec.order_by {
            if let Some(selected) = selected(&by.expr, select) {
                by.expr = selected.clone();
            }
        }
    }
    Ok(call)
}

/// The expression of the SELECT list that a name or number in ORDER BY refers to.
fn selected<'a>(by: &Expr, select: &'a Select) -> Option<&'a Expr> {
    match by {
        Expr::Identifier(name) => select.projection.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } if alias.value.eq_ignore_ascii_case(&name.value) => Some(expr),
            _ => None,
        }),
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => {
            match select.projection.get(digits.parse::<usize>().ok()?.checked_sub(1)?)? {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
                _ => None,
            }
        }
        _ => None,
    }
}

fn add_condition(query: &mut Query, condition: Expr, what: &str) -> Result<()> {
    let SetExpr::Select(select) = query.body.as_mut() else { return Err(unsuited(what)) };
    if select.distinct.is_some() {
        return Err(unsuited(what));
    }
    select.qualify = Some(match select.qualify.take() {
        Some(other) => binary(Expr::Nested(Box::new(other)), BinaryOperator::And, condition),
        None => condition,
    });
    Ok(())
}

fn unsuited(what: &str) -> atsdb_core::Error {
    not_supported(format_args!("{what} after DISTINCT, UNION and the like over columns without names")).with_hint(
        "name the columns and order by these names, or write SELECT * FROM (...) AS t ORDER BY ... around it",
    )
}
