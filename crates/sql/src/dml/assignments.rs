//! `SET a = 1, (b, c) = (2, 3), (d, e) = (SELECT ...)`.

use atsdb_core::{Error, Result};
use atsdb_dialect::text::errors::{not_supported, sql_error};
use atsdb_dialect::text::tree_walk::visit_expressions;
use atsdb_dialect::text::volatile_functions::has_volatile_call;
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, BinaryOperator, CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, GroupByExpr, ObjectName, Query, Select, SelectItem, SetExpr,
};
use std::ops::ControlFlow;

/// Each assigned column, by name, and its new value.
pub(crate) fn assignments(assignments: &mut Vec<Assignment>) -> Result<Vec<(String, Expr)>> {
    let name_of = |name: &ObjectName| match name.0.last().and_then(|part| part.as_ident()) {
        Some(ident) => Ok(ident.value.clone()),
        None => Err(sql_error(format!("{name} is not a column"))),
    };
    let mut set = Vec::new();
    for Assignment { target, value } in assignments.drain(..) {
        match target {
            AssignmentTarget::ColumnName(name) => set.push((name_of(&name)?, value)),
            AssignmentTarget::Tuple(names) => {
                let values = values_of(value)?;
                if names.len() != values.len() {
                    return Err(sql_error("number of columns does not match number of values"));
                }
                for (name, value) in names.iter().zip(values) {
                    set.push((name_of(name)?, value));
                }
            }
        }
    }
    Ok(set)
}

/// The values of a row: `(1, 2)`, `ROW(1, 2)`, or one subquery for each column of a subquery.
fn values_of(row: Expr) -> Result<Vec<Expr>> {
    match row {
        Expr::Tuple(values) => Ok(values),
        Expr::Subquery(query) => columns_of(&query),
        Expr::Nested(inner) if matches!(*inner, Expr::Tuple(_) | Expr::Subquery(_) | Expr::Function(_)) => {
            values_of(*inner)
        }
        Expr::Function(Function { name, args: FunctionArguments::List(list), .. })
            if name.to_string().eq_ignore_ascii_case("row") =>
        {
            let value = |arg: FunctionArg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Ok(value),
                other => Err(sql_error(format!("{other} is not a value"))),
            };
            list.args.into_iter().map(value).collect()
        }
        _ => {
            Err(not_supported("SET (a, b) = anything but a row of values or a subquery").with_hint("SET a = 1, b = 2"))
        }
    }
}

/// A subquery for each column of a query. All of them return the same row, because nothing in them depends on chance.
fn columns_of(query: &Query) -> Result<Vec<Expr>> {
    let select = plain_select(query).ok_or_else(unsuited)?;
    let item = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr.clone()),
        _ => None,
    };
    let values = select.projection.iter().map(item).collect::<Option<Vec<_>>>().ok_or_else(unsuited)?;
    // A call may be an aggregate, and so decide how many rows there are.
    let calls: Vec<bool> = values.iter().map(has_call).collect();
    let column = |at: usize| {
        let others = values.iter().zip(&calls).enumerate().filter(|(other, (_, calls))| *other != at && **calls);
        let narrowed = beside(&values[at], others.map(|(_, (value, _))| value));
        let mut query = query.clone();
        query.order_by = None;
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.projection = vec![SelectItem::UnnamedExpr(narrowed)];
        }
        Expr::Subquery(Box::new(query))
    };
    Ok((0..values.len()).map(column).collect())
}

/// The SELECT of a query, if each of its columns can be selected alone.
fn plain_select(query: &Query) -> Option<&Select> {
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let GroupByExpr::Expressions(groups, _) = &select.group_by else { return None };
    let counts_columns = groups.iter().any(|group| matches!(group, Expr::Value(_)));
    let is_cut = query.limit_clause.is_some() || query.fetch.is_some() || select.top.is_some();
    let is_volatile = has_volatile_call(query);
    (!counts_columns && !is_cut && select.distinct.is_none() && !is_volatile).then_some(select)
}

fn has_call(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |inner| match inner {
        Expr::Function(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// An expression with the same value that mentions others: `CASE WHEN other IS NULL THEN x ELSE x END`.
fn beside<'a>(value: &Expr, others: impl Iterator<Item = &'a Expr>) -> Expr {
    let is_null = |other: &Expr| Expr::IsNull(Box::new(Expr::Nested(Box::new(other.clone()))));
    let both = |left: Expr, right: Expr| Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::And,
        right: Box::new(right),
    };
    match others.map(is_null).reduce(both) {
        None => value.clone(),
        Some(condition) => Expr::Case {
            case_token: AttachedToken::empty(),
            end_token: AttachedToken::empty(),
            operand: None,
            conditions: vec![CaseWhen { condition, result: value.clone() }],
            else_result: Some(Box::new(value.clone())),
        },
    }
}

fn unsuited() -> Error {
    not_supported("SET (a, b) = a subquery with *, DISTINCT, LIMIT, UNION or a value that depends on chance")
        .with_hint("write UPDATE t SET a = s.a, b = s.b FROM (SELECT ...) AS s WHERE ...")
}
