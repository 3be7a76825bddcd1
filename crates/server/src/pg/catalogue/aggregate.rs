//! Aggregate functions over the catalogue.

use super::arithmetic::{average_of_numerics, sum_of_intervals, sum_of_numerics};
use super::context::Context;
use super::names::function_name;
use super::value::Value;
use crate::pg::error::PgError;
use atsdb::sql::tree_walk::visit_expressions;
use datafusion::sql::sqlparser::ast::{Expr, Function, FunctionArguments, GroupByExpr, Select, SelectItem};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Returns whether a function is an aggregate.
pub(super) fn is_aggregate(function: &Function) -> bool {
    const NAMES: [&str; 11] =
        ["count", "min", "max", "sum", "avg", "array_agg", "string_agg", "bool_and", "bool_or", "every", "json_agg"];
    function.over.is_none() && NAMES.contains(&function_name(function).as_str())
}

/// Returns whether a SELECT aggregates: it has GROUP BY or HAVING, or calls an aggregate, which makes all rows one
/// group.
pub(super) fn is_aggregate_query(select: &Select) -> bool {
    let GroupByExpr::Expressions(by, _) = &select.group_by else { return true };
    let of_item = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => has_aggregate(expr),
        _ => false,
    };
    !by.is_empty() || select.having.is_some() || select.projection.iter().any(of_item)
}

/// Returns whether an expression calls an aggregate outside of its subqueries.
fn has_aggregate(expr: &Expr) -> bool {
    let mut called = BTreeSet::new();
    let mut in_subqueries = BTreeSet::new();
    let _: ControlFlow<()> = visit_expressions(expr, |inner| {
        if let Expr::Function(function) = inner
            && is_aggregate(function)
        {
            called.insert(std::ptr::from_ref(function));
        }
        ControlFlow::Continue(())
    });
    let _: ControlFlow<()> = visit_expressions(expr, |inner| {
        let query = match inner {
            Expr::Subquery(query) | Expr::Exists { subquery: query, .. } | Expr::InSubquery { subquery: query, .. } => {
                query
            }
            Expr::Function(Function { args: FunctionArguments::Subquery(query), .. }) => query,
            _ => return ControlFlow::Continue(()),
        };
        visit_expressions(query, |inner| {
            if let Expr::Function(function) = inner {
                in_subqueries.insert(std::ptr::from_ref(function));
            }
            ControlFlow::Continue(())
        })
    });
    !called.is_subset(&in_subqueries)
}

/// Computes an aggregate. Each row contains the arguments of one call.
pub(super) fn aggregate(context: &Context<'_>, name: &str, rows: Vec<Vec<Value>>) -> Result<Value, PgError> {
    let row_count = rows.len();
    if name == "count" {
        let is_counted = |row: &&Vec<Value>| row.first().is_none_or(|value| !value.is_null());
        return Ok(Value::Int(rows.iter().filter(is_counted).count() as i64));
    }
    let mut first = rows.into_iter().map(|mut row| (row.pop(), row.pop()));
    if name == "string_agg" {
        let (mut text, mut is_empty) = (String::new(), true);
        for (separator, value) in first {
            let Some(value) = value.and_then(|value| value.shown()) else { continue };
            if !std::mem::replace(&mut is_empty, false) {
                text.push_str(&separator.and_then(|separator| separator.shown()).unwrap_or_default());
            }
            text.push_str(&value);
        }
        return Ok(if is_empty { Value::Null } else { Value::Text(text) });
    }
    if name == "array_agg" {
        let items: Vec<Value> = first.map(|(value, _)| value.unwrap_or(Value::Null)).collect();
        return Ok(if row_count == 0 { Value::Null } else { Value::Array(items) });
    }
    let values = first.by_ref().filter_map(|(value, _)| value).filter(|value| !value.is_null());
    let values: Vec<Value> = values.collect();
    let extreme = |wanted: Ordering| {
        values.iter().cloned().reduce(|best, value| if value.compare(&best) == Some(wanted) { value } else { best })
    };
    let length = sum_of_intervals(&values);
    let has_floats = values.iter().any(|value| matches!(value, Value::Float(_)));
    Ok(match name {
        _ if values.is_empty() => Value::Null,
        "min" => extreme(Ordering::Less).unwrap_or(Value::Null),
        "max" => extreme(Ordering::Greater).unwrap_or(Value::Null),
        "sum" if has_floats => Value::Float(values.iter().filter_map(Value::float).sum()),
        "sum" if length.is_some() => length.map_or(Value::Null, Value::Interval),
        "sum" if values.iter().any(|value| matches!(value, Value::Numeric(_))) => sum_of_numerics(context, &values)?,
        "sum" => {
            let sum = values.iter().filter_map(Value::int).try_fold(0_i64, i64::checked_add);
            Value::Int(sum.ok_or_else(|| PgError::error("22003", "bigint out of range"))?)
        }
        "avg" if has_floats => Value::Float(values.iter().filter_map(Value::float).sum::<f64>() / values.len() as f64),
        "avg" => match length {
            Some(length) => Value::Interval(length / values.len() as i64),
            None => average_of_numerics(context, &values)?,
        },
        "bool_and" | "every" => Value::Bool(values.iter().all(Value::is_true)),
        "bool_or" => Value::Bool(values.iter().any(Value::is_true)),
        _ => return Err(PgError::not_supported(format_args!("{name} in a catalogue query"))),
    })
}
