//! Settles the types of expressions with decimals in a plan.

use super::arithmetic::operation;
use super::comparison::compared;
use super::floats::{
    double_beside_integer, is_compared_as_float, is_decimal, is_float, read_texts, unite, unite_all,
    unite_compared_items, unite_elements, unite_items, unite_numbers,
};
use super::operation::{Operation, Sign};
use super::reals;
use super::rows::{joined, members, united, values};
use super::whole::whole;
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use crate::workarounds::shared::writing_functions::writes_values;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{Between, BinaryExpr, Case, InList, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan, Operator, binary_expr};
use datafusion::optimizer::AnalyzerRule;

/// Functions that convert their arguments to one type.
const UNITING: [&str; 6] = ["coalesce", "nullif", "greatest", "least", "nvl", "ifnull"];

/// Functions whose arguments have nothing to do with each other, beside those that [write](writes_values) them.
const SEPARATING: [&str; 2] = ["named_struct", "struct"];

/// Functions whose first arguments are lists and items of them, and the number of these arguments.
const OF_LISTS: [(&str, usize); 14] = [
    ("array_has", 2),
    ("array_has_all", 2),
    ("array_has_any", 2),
    ("array_position", 2),
    ("array_positions", 2),
    ("array_append", 2),
    ("array_prepend", 2),
    ("array_remove", 2),
    ("array_remove_all", 2),
    ("array_replace", 3),
    ("array_replace_all", 3),
    ("array_concat", 2),
    ("array_except", 2),
    ("array_intersect", 2),
];

/// The functions of lists that stand for operators, which compare a `REAL` with a decimal as `DOUBLE`s.
const COMPARING: [&str; 1] = ["array_has"];

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct SettleDecimals;

impl AnalyzerRule for SettleDecimals {
    fn name(&self) -> &str {
        "settle_decimals"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut is_changed = false;
        plan.dyn_transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            let names = NamePreserver::new(&plan);
            let settled = plan.dyn_map_expressions(|expr| {
                let name = names.save(&expr);
                let rewritten = expr.dyn_transform_up(|expr| rewrite(expr, &schema))?;
                Ok(rewritten.update_data(|expr| name.restore(expr)))
            })?;
            let settled = settled.transform_data(of_rows)?;
            is_changed |= settled.transformed;
            // The types of columns below may have changed.
            if is_changed { settled.map_data(LogicalPlan::recompute_schema) } else { Ok(settled) }
        })
        .data()
    }
}

/// Settles the types of rows that come from several places.
fn of_rows(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Values(rows) => values(rows),
        LogicalPlan::Union(union) => united(union),
        LogicalPlan::Join(join) => joined(join),
        other => Ok(Transformed::no(other)),
    }
}

fn rewrite(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if let Some(compared) = reals::compared(&expr, schema) {
        return Ok(Transformed::yes(compared));
    }
    let compare = |mut exprs: Vec<&mut Expr>| {
        let is_read = read_texts(&mut exprs, schema);
        let united = unite(exprs.iter_mut().map(|expr| &mut **expr).collect(), schema, is_compared_as_float);
        double_beside_integer(exprs, schema) || united || is_read
    };
    let mut is_changed = match &mut expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.is_numerical_operators() => {
            let united = unite(vec![left, right], schema, is_float);
            double_beside_integer(vec![left, right], schema) || united
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(*op) => compare(vec![left, right]),
        Expr::Between(Between { expr, low, high, .. }) => compare(vec![expr, low, high]),
        Expr::InList(InList { expr, list, .. }) => compare(std::iter::once(&mut **expr).chain(list).collect()),
        Expr::Case(Case { expr, when_then_expr, else_expr }) => {
            let (whens, mut results): (Vec<_>, Vec<_>) =
                when_then_expr.iter_mut().map(|(when, then)| (&mut **when, &mut **then)).unzip();
            results.extend(else_expr.as_deref_mut());
            let compared =
                expr.as_deref_mut().is_some_and(|expr| compare(std::iter::once(expr).chain(whens).collect()));
            unite_all(results, schema) || compared
        }
        Expr::ScalarFunction(call) if UNITING.contains(&call.func.name()) => {
            unite_all(call.args.iter_mut().collect(), schema)
        }
        Expr::ScalarFunction(call) if call.func.name() == "make_array" => {
            unite_elements(call.args.iter_mut().collect(), schema)
        }
        Expr::ScalarFunction(call) if let Some(count) = items_of(call.func.name()) => {
            let args = call.args.iter_mut().take(count).collect();
            match COMPARING.contains(&call.func.name()) {
                true => unite_compared_items(args, schema),
                false => unite_items(args, schema),
            }
        }
        Expr::ScalarFunction(call) if !is_separating(call.func.name()) => {
            unite(call.args.iter_mut().collect(), schema, is_float)
        }
        // DataFusion would give the middle of two decimals no more digits than they have.
        Expr::AggregateFunction(call) if call.func.name() == "median" => {
            unite(call.params.args.iter_mut().collect(), schema, is_decimal)
        }
        Expr::AggregateFunction(call) => unite(call.params.args.iter_mut().collect(), schema, is_float),
        Expr::WindowFunction(call) => {
            let WindowFunction { fun, params, .. } = call.as_mut();
            match (fun.name(), params.args.as_mut_slice()) {
                // The value and its default have one type.
                ("lag" | "lead", [value, _, default]) => unite_numbers(vec![value, default], schema),
                (_, args) => unite(args.iter_mut().collect(), schema, is_float),
            }
        }
        Expr::InSubquery(member) => members(&mut member.expr, &mut member.subquery, schema)?,
        Expr::SetComparison(member) => members(&mut member.expr, &mut member.subquery, schema)?,
        _ => false,
    };
    if let Some(other) = settled(&expr, schema) {
        (expr, is_changed) = (other, true);
    }
    Ok(if is_changed { Transformed::yes(expr) } else { Transformed::no(expr) })
}

fn is_separating(function: &str) -> bool {
    SEPARATING.contains(&function) || writes_values(function)
}

/// The number of a function's first arguments that are lists and items of them.
pub(crate) fn items_of(function: &str) -> Option<usize> {
    OF_LISTS.iter().find(|(name, _)| *name == function).map(|(_, count)| *count)
}

/// Another expression in the place of one whose operands have their types; `None` if it stays.
fn settled(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.is_numerical_operators() => {
            operation(Sign::of(*op)?, left, right, schema)
        }
        Expr::BinaryExpr(_) | Expr::Between(_) | Expr::InList(_) => compared(expr, schema),
        Expr::ScalarFunction(call) => match (Operation::sign_of(&call.func), call.args.as_slice()) {
            // It was planned when the types of its operands were not settled.
            (Some(sign), [left, right]) => {
                let binary = || binary_expr(left.clone(), sign.operator(), right.clone());
                let replanned = operation(sign, left, right, schema).unwrap_or_else(binary);
                (replanned != *expr).then_some(replanned)
            }
            _ => whole(call, schema),
        },
        _ => None,
    }
}

/// Returns whether an operator compares two values of one type.
fn compares(operator: Operator) -> bool {
    use Operator as O;
    matches!(operator, O::Eq | O::NotEq | O::Lt | O::LtEq | O::Gt | O::GtEq)
        || matches!(operator, O::IsDistinctFrom | O::IsNotDistinctFrom)
}
