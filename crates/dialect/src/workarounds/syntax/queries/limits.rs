//! Limits of an answer: `FETCH FIRST n ROWS`, also `WITH TIES`, and a `LIMIT` or `OFFSET` given by a subquery.
//! DataFusion only supports numbers in `LIMIT` and `OFFSET`; the rest becomes a condition on `row_number` or `rank`.
//! After `DISTINCT`, `UNION` and the like, and beside functions that return rows, the rows are those of a subquery.
//!
//! Waits for [#17716](https://github.com/apache/datafusion/issues/17716) (`FETCH`); for subqueries no upstream issue is
//! known.

use crate::text::errors::{not_supported, sql_error};
use crate::text::tree_walk::visit_expressions;
use crate::workarounds::syntax::forms::composed_functions::filled;
use crate::workarounds::syntax::names::output_names;
use crate::workarounds::syntax::rows::names_beside_rows::has_rows;
use crate::workarounds::syntax::tokens::fetched_rows::WITH_TIES;
use crate::workarounds::syntax::{binary, expression, expression_of, is_null, query_body};
use atsdb_core::name::same_name;
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Fetch, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    LimitClause, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor, UnaryOperator, Value,
    ValueWithSpan, WindowType,
};
use std::fmt::Display;
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
    if let Some(LimitClause::LimitOffset { limit: Some(limit), offset, .. }) = &query.limit_clause
        && let Some(quantity) = counted_with_ties(limit)
    {
        let (quantity, offset) = (quantity.clone(), offset.as_ref().map(|offset| offset.value.clone()));
        query.limit_clause = None;
        return limit_ranks(query, quantity, offset);
    }
    if query.limit_clause.as_ref().is_some_and(asks) {
        return limit_numbers(query);
    }
    match &mut query.limit_clause {
        Some(LimitClause::LimitOffset { limit, offset, .. }) => {
            limit.iter_mut().try_for_each(|count| as_integer(count, "LIMIT"))?;
            offset.iter_mut().try_for_each(|offset| as_integer(&mut offset.value, "OFFSET"))
        }
        _ => Ok(()),
    }
}

/// The number of rows of a `FETCH FIRST (...) ROWS WITH TIES`, if the parser has seen it as this `LIMIT`.
fn counted_with_ties(limit: &Expr) -> Option<&Expr> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = limit else { return None };
    let is_mark = name.0.last().and_then(|part| part.as_ident()).is_some_and(|name| name.value == WITH_TIES);
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(quantity))] if is_mark => Some(quantity),
        _ => None,
    }
}

/// Casts what is computed, texts and numbers with a point, such as `1.5 * 2`. What is no number is refused.
fn as_integer(count: &mut Expr, clause: &str) -> Result<()> {
    let mut inner: &Expr = count;
    while let Expr::Nested(nested) = inner {
        inner = nested;
    }
    let is_integer = match inner {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.bytes().all(|digit| digit.is_ascii_digit()),
            Value::SingleQuotedString(_) => false,
            _ => true,
        },
        Expr::BinaryOp { op, .. } if !is_arithmetic(op) => return Err(no_integer(clause, op)),
        Expr::UnaryOp { op: op @ UnaryOperator::Not, .. } => return Err(no_integer(clause, op)),
        Expr::Cast { data_type, .. } => !has_places(data_type),
        Expr::BinaryOp { .. } | Expr::UnaryOp { .. } => false,
        _ => true,
    };
    if !is_integer {
        let number = std::mem::replace(count, Expr::value(Value::Null));
        *count = filled("CAST(a AS BIGINT)", &[&number])?;
    }
    Ok(())
}

fn is_arithmetic(op: &BinaryOperator) -> bool {
    use BinaryOperator::{
        BitwiseAnd, BitwiseOr, BitwiseXor, Divide, Minus, Modulo, Multiply, PGBitwiseShiftLeft, PGBitwiseShiftRight,
        PGBitwiseXor, PGExp, Plus,
    };
    let is_of_bits =
        matches!(op, BitwiseAnd | BitwiseOr | BitwiseXor | PGBitwiseXor | PGBitwiseShiftLeft | PGBitwiseShiftRight);
    is_of_bits || matches!(op, Plus | Minus | Multiply | Divide | Modulo | PGExp)
}

/// Returns whether the numbers of a type have places after the point.
fn has_places(data_type: &DataType) -> bool {
    use DataType::{Decimal, Double, DoublePrecision, Float, Numeric, Real};
    matches!(data_type, Decimal(_) | Double(_) | DoublePrecision | Float(_) | Numeric(_) | Real)
}

fn no_integer(clause: &str, op: &dyn Display) -> Error {
    sql_error(format!("argument of {clause} must be type bigint, not the result of {op}"))
}

/// Refuses a number with a minus.
fn refuse_negative(count: &Expr, clause: &str) -> Result<()> {
    match count {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } if is_positive(expr) => {
            Err(sql_error(format!("{clause} must not be negative")))
        }
        Expr::Nested(inner) => refuse_negative(inner, clause),
        _ => Ok(()),
    }
}

/// Returns whether it is a number that is not rounded to 0.
fn is_positive(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. })
        if digits.parse::<f64>().is_ok_and(|number| number >= 0.5))
}

fn asks(clause: &LimitClause) -> bool {
    let found = visit_expressions(clause, |expr| match expr {
        Expr::Subquery(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

fn limit_ranks(query: &mut Query, mut quantity: Expr, offset: Option<Expr>) -> Result<()> {
    if query.order_by.is_none() {
        return Err(sql_error("WITH TIES needs ORDER BY"));
    }
    let what = "WITH TIES";
    refuse_negative(&quantity, "LIMIT")?;
    offset.iter().try_for_each(|offset| refuse_negative(offset, "OFFSET"))?;
    let mut written: &Expr = &quantity;
    while let Expr::Nested(inner) = written {
        written = inner;
    }
    if is_null(written) {
        return Err(sql_error("row count cannot be null in FETCH FIRST ... WITH TIES"));
    }
    as_integer(&mut quantity, "LIMIT")?;
    let is_computed = match &quantity {
        Expr::Value(value) => matches!(value.value, Value::Placeholder(_)),
        _ => true,
    };
    if is_computed {
        quantity = filled("row_bound(CAST(a AS BIGINT), 'LIMIT')", &[&quantity])?;
    }
    enclose(query, what)?;
    let rank = window("rank() OVER ()", query, what)?;
    // A computed number, or a parameter, may be NULL, which means no limit.
    let Some(offset) = offset else {
        if is_computed {
            quantity = filled("coalesce(a, 9223372036854775807)", &[&quantity])?;
        }
        return add_condition(query, binary(rank, BinaryOperator::LtEq, quantity), what);
    };
    let limited = |condition: Expr| -> Result<Expr> {
        if is_computed { filled("coalesce(a, TRUE)", &[&condition]) } else { Ok(condition) }
    };
    let number = window("row_number() OVER ()", query, what)?;
    let quantity = Expr::Nested(Box::new(quantity));
    // NULL means no offset.
    let offset = filled("coalesce(CAST(a AS BIGINT), 0)", &[&offset])?;
    // FETCH FIRST 0 ROWS returns nothing, not even rows that are equal to the last skipped one.
    add_condition(query, limited(binary(quantity.clone(), BinaryOperator::Gt, expression("0")?))?, what)?;
    add_condition(query, binary(number, BinaryOperator::Gt, offset.clone()), what)?;
    let last = binary(offset, BinaryOperator::Plus, quantity);
    add_condition(query, limited(binary(rank, BinaryOperator::LtEq, last))?, what)
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
    limit.iter().try_for_each(|limit| refuse_negative(limit, "LIMIT"))?;
    offset.iter().try_for_each(|offset| refuse_negative(offset, "OFFSET"))?;
    // NULL means no limit, and no offset.
    let skipped = match offset {
        Some(offset) => filled("coalesce(row_bound(CAST(a AS BIGINT), 'OFFSET'), 0)", &[&offset])?,
        None => expression("0")?,
    };
    add_condition(query, binary(number.clone(), BinaryOperator::Gt, skipped.clone()), what)?;
    let Some(limit) = limit else { return Ok(()) };
    let bound = filled("row_bound(CAST(a AS BIGINT), 'LIMIT')", &[&limit])?;
    let condition = filled("coalesce(a <= b + c, TRUE)", &[&number, &bound, &skipped])?;
    add_condition(query, condition, what)
}

/// Makes a subquery of a query whose rows cannot be numbered where they are selected. Functions in the SELECT list
/// return theirs after the others are numbered.
fn enclose(query: &mut Query, what: &str) -> Result<()> {
    if let SetExpr::Select(select) = query.body.as_mut()
        && select.distinct.is_none()
    {
        if !select.projection.iter().filter_map(expression_of).any(has_rows) {
            return Ok(());
        }
        select.projection.iter_mut().for_each(name_call);
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

/// Gives a call the name that it has in the answer.
fn name_call(item: &mut SelectItem) {
    if let SelectItem::UnnamedExpr(expr @ (Expr::Function(_) | Expr::Cast { .. })) = item
        && let Some(alias) = output_names::name_of(expr)
    {
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
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
            expression_of(select.projection.get(digits.parse::<usize>().ok()?.checked_sub(1)?)?)
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

fn unsuited(what: &str) -> Error {
    not_supported(format_args!("{what} after DISTINCT, UNION and the like over columns without names")).with_hint(
        "name the columns and order by these names, or write SELECT * FROM (...) AS t ORDER BY ... around it",
    )
}
