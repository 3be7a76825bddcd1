//! Groups: `GROUP BY (a, b)`, `GROUP BY ()`, `ROLLUP` and `CUBE` inside `GROUPING SETS` and over several columns at a
//! time, as in `ROLLUP (a, (b, c))`, or over one column twice, `HAVING` without groups and aggregates, and numbers of
//! columns in `DISTINCT ON`, `ROLLUP`, `CUBE` and `GROUPING SETS`, none of which DataFusion understands. Two columns of
//! the answer with one expression are refused as two groups, because DataFusion mistakes them for one.
//!
//! No upstream issue known.

use crate::text::errors::{not_supported, sql_error};
use crate::text::tree_walk::{visit_expressions, visit_outer_expressions_mut};
use crate::workarounds::syntax::expression;
use atsdb_core::Result;
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Distinct, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Select,
    SelectItem, Value, ValueWithSpan, VisitMut,
};
use std::ops::ControlFlow;

/// The most columns of `CUBE`, as in PostgreSQL.
const CUBE_COLUMNS_MAX: usize = 12;

/// Rewrites the groups of a SELECT.
pub(crate) fn regroup(select: &mut Select) -> Result<()> {
    name_distinct_columns(select);
    refuse_equal_items(select)?;
    let GroupByExpr::Expressions(exprs, _) = &mut select.group_by else { return Ok(()) };
    let had_groups = !exprs.is_empty();
    if !had_groups && (calls_grouping(&mut select.projection) || calls_grouping(&mut select.having)) {
        return Err(sql_error("GROUPING needs a GROUP BY in the same SELECT")
            .with_hint("write GROUPING(x) AS g in the SELECT with the GROUP BY, and use g around it"));
    }
    let mut regrouped = Vec::with_capacity(exprs.len());
    for mut expr in std::mem::take(exprs) {
        if let Expr::GroupingSets(sets) | Expr::Rollup(sets) | Expr::Cube(sets) = &mut expr {
            sets.iter_mut().flatten().for_each(|column| name_columns(column, &select.projection));
        }
        match expr {
            Expr::Tuple(columns) => regrouped.extend(columns),
            Expr::GroupingSets(sets) => {
                let sets = sets.into_iter().map(expanded).collect::<Result<Vec<_>>>()?;
                regrouped.push(Expr::GroupingSets(sets.into_iter().flatten().collect()));
            }
            Expr::Rollup(columns) if needs_sets(&columns) => regrouped.push(Expr::GroupingSets(rollup_sets(&columns))),
            Expr::Cube(columns) if needs_sets(&columns) => regrouped.push(Expr::GroupingSets(cube_sets(&columns)?)),
            other => regrouped.push(other),
        }
    }
    let has_groups = !regrouped.is_empty();
    *exprs = regrouped;
    // All rows are one group, even if there are none. An aggregate says so.
    if !has_groups && (had_groups || (select.having.is_some() && !calls_function(select))) {
        let one_group = expression("count(*) >= 0")?;
        select.having = Some(match select.having.take() {
            Some(having) => Expr::BinaryOp {
                left: Box::new(Expr::Nested(Box::new(having))),
                op: BinaryOperator::And,
                right: Box::new(one_group),
            },
            None => one_group,
        });
    }
    Ok(())
}

/// Returns whether the SELECT list or HAVING calls a function, which may be an aggregate.
fn calls_function(select: &Select) -> bool {
    let is_call = |expr: &Expr| match expr {
        Expr::Function(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    visit_expressions(&select.projection, is_call).is_break() || visit_expressions(&select.having, is_call).is_break()
}

/// Returns whether a part of a SELECT calls `GROUPING` outside of its subqueries.
fn calls_grouping(part: &mut impl VisitMut) -> bool {
    let is_call = |expr: &mut Expr| match expr {
        Expr::Function(call) if call.name.to_string().eq_ignore_ascii_case("grouping") => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    visit_outer_expressions_mut(part, is_call).is_break()
}

/// The sets that one of several grouping sets stands for.
fn expanded(set: Vec<Expr>) -> Result<Vec<Vec<Expr>>> {
    let [Expr::Function(Function { name, args: FunctionArguments::List(list), .. })] = set.as_slice() else {
        return Ok(vec![set]);
    };
    let columns: Vec<Vec<Expr>> = list
        .args
        .iter()
        .filter_map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Tuple(columns))) => Some(columns.clone()),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(column)) => Some(vec![column.clone()]),
            _ => None,
        })
        .collect();
    match name.to_string().to_ascii_lowercase().as_str() {
        "rollup" => Ok(rollup_sets(&columns)),
        "cube" => cube_sets(&columns),
        _ => Ok(vec![set]),
    }
}

/// Returns whether an element of a `ROLLUP` or `CUBE` is a list of columns, or is there twice.
fn needs_sets(columns: &[Vec<Expr>]) -> bool {
    columns.iter().enumerate().any(|(at, element)| element.len() != 1 || columns[..at].contains(element))
}

/// The columns of a grouping set, each once.
fn without_repetition(columns: Vec<Expr>) -> Vec<Expr> {
    let mut once = Vec::with_capacity(columns.len());
    for column in columns {
        if !once.contains(&column) {
            once.push(column);
        }
    }
    once
}

/// The sets of a `ROLLUP` over lists of columns.
fn rollup_sets(columns: &[Vec<Expr>]) -> Vec<Vec<Expr>> {
    (0..=columns.len()).rev().map(|kept| without_repetition(columns[..kept].concat())).collect()
}

/// The sets of a `CUBE` over lists of columns.
fn cube_sets(columns: &[Vec<Expr>]) -> Result<Vec<Vec<Expr>>> {
    let count = columns.len();
    if count > CUBE_COLUMNS_MAX {
        return Err(sql_error(format!("CUBE takes at most {CUBE_COLUMNS_MAX} columns")));
    }
    let chosen = |bits: usize| {
        let columns = columns.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
        without_repetition(columns.flat_map(|(_, columns)| columns.clone()).collect())
    };
    Ok((0..1_usize << count).rev().map(chosen).collect())
}

/// Refuses two columns of the answer with one expression that are groups of their own, as in `SELECT x AS a, x AS b ...
/// GROUP BY a, ROLLUP (b)`: DataFusion mistakes them for one group.
fn refuse_equal_items(select: &Select) -> Result<()> {
    let Select { group_by: GroupByExpr::Expressions(groups, _), projection, .. } = select else { return Ok(()) };
    if !groups.iter().any(|group| matches!(group, Expr::GroupingSets(_) | Expr::Rollup(_) | Expr::Cube(_))) {
        return Ok(());
    }
    let mut positions = Vec::new();
    groups.iter().for_each(|group| add_items(group, projection, &mut positions));
    let mut known: Vec<&Expr> = Vec::new();
    for position in positions {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = &projection[position] else {
            continue;
        };
        if known.contains(&expr) {
            return Err(not_supported("ROLLUP, CUBE and GROUPING SETS over two columns with one expression")
                .with_hint("make them one column, or two different expressions"));
        }
        known.push(expr);
    }
    Ok(())
}

/// Adds the positions of the items that a group names by an alias or a number.
fn add_items(group: &Expr, items: &[SelectItem], positions: &mut Vec<usize>) {
    let position = match group {
        Expr::Nested(inner) => return add_items(inner, items, positions),
        Expr::Tuple(groups) => return groups.iter().for_each(|group| add_items(group, items, positions)),
        Expr::GroupingSets(sets) | Expr::Rollup(sets) | Expr::Cube(sets) => {
            return sets.iter().flatten().for_each(|group| add_items(group, items, positions));
        }
        // A ROLLUP or CUBE inside GROUPING SETS.
        Expr::Function(Function { args: FunctionArguments::List(list), .. }) => {
            for arg in &list.args {
                if let FunctionArg::Unnamed(FunctionArgExpr::Expr(group)) = arg {
                    add_items(group, items, positions);
                }
            }
            return;
        }
        Expr::Identifier(name) => items.iter().position(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => same_name(&alias.value, &name.value),
            _ => false,
        }),
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => {
            digits.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).filter(|at| *at < items.len())
        }
        _ => None,
    };
    if let Some(position) = position
        && !positions.contains(&position)
    {
        positions.push(position);
    }
}

/// Replaces numbers in `DISTINCT ON (1)` by the columns that they count.
fn name_distinct_columns(select: &mut Select) {
    let Select { distinct: Some(Distinct::On(exprs)), projection, .. } = select else { return };
    exprs.iter_mut().for_each(|expr| name_column(expr, projection));
}

/// Replaces numbers in a grouping set, which may be a ROLLUP or CUBE of its own.
fn name_columns(column: &mut Expr, projection: &[SelectItem]) {
    match column {
        Expr::Tuple(columns) => columns.iter_mut().for_each(|column| name_columns(column, projection)),
        Expr::Nested(inner) => name_columns(inner, projection),
        Expr::Function(Function { name, args: FunctionArguments::List(list), .. })
            if ["rollup", "cube"].iter().any(|known| name.to_string().eq_ignore_ascii_case(known)) =>
        {
            for arg in &mut list.args {
                if let FunctionArg::Unnamed(FunctionArgExpr::Expr(column)) = arg {
                    name_columns(column, projection);
                }
            }
        }
        column => name_column(column, projection),
    }
}

/// Replaces a number by the column of the answer that it counts.
pub(super) fn name_column(expr: &mut Expr, projection: &[SelectItem]) {
    let Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) = expr else { return };
    let item = digits.parse::<usize>().ok().and_then(|number| projection.get(number.checked_sub(1)?));
    if let Some(SelectItem::UnnamedExpr(found) | SelectItem::ExprWithAlias { expr: found, .. }) = item {
        *expr = found.clone();
    }
}
