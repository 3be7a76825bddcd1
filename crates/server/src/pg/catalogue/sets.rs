//! Set-returning functions, and window functions.

use super::context::{Context, Frame};
use super::evaluate::evaluate;
use super::names::function_name;
use super::relation::Relation;
use super::select_sort::sort;
use super::typing::first_subscript;
use super::value::Value;
use crate::pg::error::PgError;
use atsdb::sql::tree_walk::visit_expressions;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Select, SelectItem, WindowType,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The maximum number of values of one call.
const VALUES_MAX: i64 = 1_000_000;

type Computed = BTreeMap<*const Expr, Value>;

/// Returns whether a function is set-returning.
pub(super) fn is_set_function(name: &str) -> bool {
    const NAMES: [&str; 6] = [
        "unnest",
        "generate_series",
        "generate_subscripts",
        "_pg_expandarray",
        "regexp_split_to_table",
        "pg_partition_ancestors",
    ];
    NAMES.contains(&name)
}

/// The values in an array, with nested arrays flattened.
pub(super) fn elements(items: &[Value]) -> Vec<Value> {
    let parts = items.iter().map(|item| match item {
        Value::Array(inner) => elements(inner),
        item => vec![item.clone()],
    });
    parts.flatten().collect()
}

/// Computes the values of a call.
pub(super) fn set_of(name: &str, arguments: &[Value]) -> Result<Vec<Value>, PgError> {
    let number = |position: usize| arguments.get(position).and_then(Value::int);
    let items = match arguments.first() {
        Some(Value::Array(items)) => items.as_slice(),
        _ => &[],
    };
    Ok(match name {
        "unnest" => elements(items),
        // No table is a partition.
        "pg_partition_ancestors" => Vec::new(),
        "_pg_expandarray" => {
            let numbered = items.iter().enumerate();
            numbered
                .map(|(position, item)| Value::Record(vec![item.clone(), Value::Int(position as i64 + 1)]))
                .collect()
        }
        "generate_subscripts" => (1..=items.len() as i64).map(Value::Int).collect(),
        "generate_series" => {
            let (Some(first), Some(last)) = (number(0), number(1)) else { return Ok(Vec::new()) };
            let step = if arguments.len() > 2 { number(2).unwrap_or(0) } else { 1 };
            if last.saturating_sub(first).checked_div(step).is_none_or(|count| count > VALUES_MAX) {
                return Err(PgError::error("22023", "generate_series in a catalogue query returns too many values"));
            }
            let mut values = Vec::new();
            let mut value = first;
            while if step > 0 { value <= last } else { value >= last } {
                values.push(Value::Int(value));
                let Some(next) = value.checked_add(step) else { break };
                value = next;
            }
            values
        }
        _ => return Err(PgError::not_supported(format_args!("{name} in a catalogue query"))),
    })
}

/// Expands one row by its calls of set-returning functions. Returns the values of the calls for each resulting row.
pub(super) fn expand(
    context: &Context<'_>,
    expressions: &[&Expr],
    frame: &Frame<'_>,
) -> Result<Vec<Computed>, PgError> {
    let mut sets: Vec<(*const Expr, Vec<Value>)> = Vec::new();
    for expr in expressions {
        let outcome = visit_expressions(*expr, |inner| match inner {
            Expr::Function(function) if is_set_function(&function_name(function)) => {
                let name = function_name(function);
                match arguments(context, function, frame).and_then(|values| set_of(&name, &values)) {
                    Ok(set) if name == "generate_subscripts" => {
                        let args = match &function.args {
                            FunctionArguments::List(list) => list.args.as_slice(),
                            _ => &[],
                        };
                        sets.push((std::ptr::from_ref(inner), subscripts(context, args, &set, frame)));
                        ControlFlow::Continue(())
                    }
                    Ok(set) => {
                        sets.push((std::ptr::from_ref(inner), set));
                        ControlFlow::Continue(())
                    }
                    Err(error) => ControlFlow::Break(error),
                }
            }
            _ => ControlFlow::Continue(()),
        });
        if let ControlFlow::Break(error) = outcome {
            // The call is inside a subquery, which evaluates it for its own rows.
            if error.code != "42703" {
                return Err(error);
            }
        }
    }
    if sets.is_empty() {
        return Ok(vec![Computed::new()]);
    }
    let row_count = sets.iter().map(|(_, set)| set.len()).max().unwrap_or(0);
    let row = |position: usize| {
        sets.iter().map(|(expr, set)| (*expr, set.get(position).cloned().unwrap_or(Value::Null))).collect()
    };
    Ok((0..row_count).map(row).collect())
}

/// Counts the subscripts of a function's array argument, which are given from 1, from that of its first element.
pub(super) fn subscripts(
    context: &Context<'_>,
    args: &[FunctionArg],
    from_one: &[Value],
    frame: &Frame<'_>,
) -> Vec<Value> {
    let first = match args.first() {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(array))) => first_subscript(context, array, frame),
        _ => 1,
    };
    from_one.iter().filter_map(Value::int).map(|number| Value::Int(number - 1 + first)).collect()
}

fn arguments(context: &Context<'_>, function: &Function, frame: &Frame<'_>) -> Result<Vec<Value>, PgError> {
    let FunctionArguments::List(list) = &function.args else { return Ok(Vec::new()) };
    let value = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => evaluate(context, expr, frame),
        _ => Err(PgError::not_supported("a named argument")),
    };
    list.args.iter().map(value).collect()
}

/// Computes the values of window functions, for each row.
pub(super) fn window_values(
    context: &Context<'_>,
    select: &Select,
    input: &Relation,
    frame: &Frame<'_>,
) -> Result<Vec<Computed>, PgError> {
    let mut calls: Vec<(*const Expr, &Function)> = Vec::new();
    for item in &select.projection {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            find_windows(expr, &mut calls);
        }
    }
    let mut values = if calls.is_empty() { Vec::new() } else { vec![Computed::new(); input.rows.len()] };
    for (expr, function) in calls {
        let Some(WindowType::WindowSpec(window)) = &function.over else {
            return Err(PgError::not_supported("a named window in a catalogue query"));
        };
        if function_name(function) != "row_number" {
            return Err(PgError::not_supported(format_args!("{} over a window", function_name(function))));
        }
        let mut parts: BTreeMap<String, Vec<(Vec<Value>, usize)>> = BTreeMap::new();
        for (position, row) in input.rows.iter().enumerate() {
            let inner = frame.with_row(&input.columns, row);
            let evaluated = |expr: &Expr| evaluate(context, expr, &inner);
            let part = window.partition_by.iter().map(evaluated).collect::<Result<Vec<_>, _>>()?;
            let keys = window.order_by.iter().map(|by| evaluated(&by.expr)).collect::<Result<Vec<_>, _>>()?;
            parts.entry(format!("{part:?}")).or_default().push((keys, position));
        }
        for rows in parts.values_mut() {
            sort(rows, &window.order_by);
            for (number, (_, position)) in rows.iter().enumerate() {
                values[*position].insert(expr, Value::Int(number as i64 + 1));
            }
        }
    }
    Ok(values)
}

/// Collects the window functions of an expression, which are near its top.
fn find_windows<'a>(expr: &'a Expr, calls: &mut Vec<(*const Expr, &'a Function)>) {
    match expr {
        Expr::Function(function) if function.over.is_some() => calls.push((std::ptr::from_ref(expr), function)),
        Expr::Cast { expr, .. } | Expr::Nested(expr) => find_windows(expr, calls),
        Expr::BinaryOp { left, right, .. } => {
            find_windows(left, calls);
            find_windows(right, calls);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_ends_at_the_last_number_of_its_type() {
        for (first, last, step) in [(i64::MAX - 1, i64::MAX, 1), (i64::MIN + 1, i64::MIN, -1)] {
            let found = set_of("generate_series", &[first, last, step].map(Value::Int)).unwrap();
            assert_eq!(found, [first, last].map(Value::Int));
        }
        for (first, last, step) in [(i64::MAX, i64::MIN, -1), (1, 2, 0)] {
            assert!(set_of("generate_series", &[first, last, step].map(Value::Int)).is_err());
        }
    }
}
