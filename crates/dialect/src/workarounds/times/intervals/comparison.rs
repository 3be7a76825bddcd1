//! Compares intervals by their total length, where a month has 30 days and a day 24 hours, wherever a query compares
//! values: operators, joins, orders, groups, partitions and functions. DataFusion compares months, days and the rest
//! one by one.
//!
//! Waits for [#8468](https://github.com/apache/datafusion/issues/8468).

use super::extremes::ExtremeOfRow;
use super::groups::by_length;
use super::order::order;
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::arrow::datatypes::{DataType, IntervalUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Case, InList, ScalarFunction, Sort};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Join;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Between, BinaryExpr, Expr, ExprSchemable, JoinConstraint, LogicalPlan, Operator, ScalarUDF, WindowFrame,
    WindowFrameBound, WindowFrameUnits, binary_expr, cast,
};
use datafusion::optimizer::AnalyzerRule;

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct Lengths;

impl AnalyzerRule for Lengths {
    fn name(&self) -> &str {
        "lengths"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.dyn_transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            let names = NamePreserver::new(&plan);
            let plan = plan.dyn_map_expressions(|expr| {
                let name = names.save(&expr);
                let rewritten = expr.dyn_transform_up(|expr| Ok(rewrite(expr, &schema)))?;
                Ok(rewritten.update_data(|expr| name.restore(expr)))
            })?;
            plan.transform_data(|plan| match plan {
                LogicalPlan::Join(join) => Ok(Transformed::yes(LogicalPlan::Join(join_by_length(join)))),
                // ORDER BY sorts by the length, too.
                LogicalPlan::Sort(mut sort) => {
                    let changed = sorted(&mut sort.expr, &schema);
                    Ok(Transformed::new_transformed(LogicalPlan::Sort(sort), changed))
                }
                other => by_length(other),
            })
        })
        .data()
    }
}

const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

fn is_interval(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Interval(_)))
}

pub(super) fn is_length(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Interval(_) | DataType::Duration(_)))
}

/// An interval, or text that is compared with one, as a number.
fn compared(expr: Expr, schema: &DFSchema) -> Expr {
    match expr.get_type(schema) {
        Ok(DataType::Interval(_) | DataType::Duration(_)) => order(expr),
        _ => order(cast(expr, INTERVAL)),
    }
}

fn may_be_length(expr: &Expr, schema: &DFSchema) -> bool {
    match expr.get_type(schema) {
        Ok(DataType::Interval(_) | DataType::Duration(_) | DataType::Null) => true,
        Ok(DataType::Utf8) => matches!(expr, Expr::Literal(..)),
        _ => false,
    }
}

/// Joins rows whose intervals have the same length.
fn join_by_length(mut join: Join) -> Join {
    for (left, right) in &mut join.on {
        if is_interval(left, join.left.schema()) && is_interval(right, join.right.schema()) {
            *left = order(left.clone());
            *right = order(right.clone());
            // USING names columns, and a length is none.
            join.join_constraint = JoinConstraint::On;
        }
    }
    join
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match expr {
        Expr::BinaryExpr(binary) => of_binary(binary, schema),
        Expr::Between(Between { expr, negated, low, high })
            if is_compared(&[expr.as_ref(), low.as_ref(), high.as_ref()], schema) =>
        {
            let [expr, low, high] = [expr, low, high].map(|expr| Box::new(compared(*expr, schema)));
            Transformed::yes(Expr::Between(Between { expr, negated, low, high }))
        }
        Expr::InList(InList { expr, list, negated })
            if is_compared(&list.iter().chain([expr.as_ref()]).collect::<Vec<_>>(), schema) =>
        {
            let list = list.into_iter().map(|item| compared(item, schema)).collect();
            Transformed::yes(Expr::InList(InList { expr: Box::new(compared(*expr, schema)), list, negated }))
        }
        Expr::Case(Case { expr: Some(value), when_then_expr, else_expr })
            if is_compared(
                &when_then_expr.iter().map(|(when, _)| when.as_ref()).chain([value.as_ref()]).collect::<Vec<_>>(),
                schema,
            ) =>
        {
            let when_then_expr =
                when_then_expr.into_iter().map(|(when, then)| (Box::new(compared(*when, schema)), then)).collect();
            Transformed::yes(Expr::Case(Case {
                expr: Some(Box::new(compared(*value, schema))),
                when_then_expr,
                else_expr,
            }))
        }
        Expr::ScalarFunction(call) => of_function(call, schema),
        Expr::AggregateFunction(mut call) => {
            let mut changed = false;
            if call.params.distinct && call.func.name() == "count" {
                changed |= ordered(&mut call.params.args, schema);
            }
            changed |= sorted(&mut call.params.order_by, schema);
            Transformed::new_transformed(Expr::AggregateFunction(call), changed)
        }
        Expr::WindowFunction(mut call) => {
            let mut changed = ordered(&mut call.params.partition_by, schema);
            if !has_distances(&call.params.window_frame) {
                changed |= sorted(&mut call.params.order_by, schema);
            }
            Transformed::new_transformed(Expr::WindowFunction(call), changed)
        }
        other => Transformed::no(other),
    }
}

/// `nullif`, `greatest` and `least`.
fn of_function(call: ScalarFunction, schema: &DFSchema) -> Transformed<Expr> {
    let is_max = match call.func.name() {
        "nullif" if call.args.len() == 2 => None,
        "greatest" => Some(true),
        "least" => Some(false),
        _ => return Transformed::no(Expr::ScalarFunction(call)),
    };
    if !is_compared(&call.args.iter().collect::<Vec<_>>(), schema) {
        return Transformed::no(Expr::ScalarFunction(call));
    }
    let interval = |expr: &Expr| if is_interval(expr, schema) { expr.clone() } else { cast(expr.clone(), INTERVAL) };
    let args: Vec<Expr> = call.args.iter().map(interval).collect();
    let found = match (is_max, args.as_slice()) {
        (None, [value, other]) => {
            let null = Expr::Literal(ScalarValue::IntervalMonthDayNano(None), None);
            let is_equal = binary_expr(order(value.clone()), Operator::Eq, order(other.clone()));
            let pairs = vec![(Box::new(is_equal), Box::new(null))];
            Expr::Case(Case { expr: None, when_then_expr: pairs, else_expr: Some(Box::new(value.clone())) })
        }
        (is_max, _) => ScalarUDF::new_from_impl(ExtremeOfRow::new(is_max.unwrap_or(false))).call(args),
    };
    Transformed::yes(found)
}

/// Replaces intervals by their lengths. Returns whether there were any.
fn ordered(exprs: &mut [Expr], schema: &DFSchema) -> bool {
    let mut changed = false;
    for expr in exprs {
        if is_interval(expr, schema) {
            *expr = order(std::mem::take(expr).unalias());
            changed = true;
        }
    }
    changed
}

fn sorted(keys: &mut [Sort], schema: &DFSchema) -> bool {
    let mut changed = false;
    for key in keys {
        changed |= ordered(std::slice::from_mut(&mut key.expr), schema);
    }
    changed
}

/// Returns whether the frame reaches as far as a given difference from the current row's value.
pub(crate) fn has_distances(frame: &WindowFrame) -> bool {
    let is_distance = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(distance) | WindowFrameBound::Following(distance) => !distance.is_null(),
        WindowFrameBound::CurrentRow => false,
    };
    frame.units == WindowFrameUnits::Range && (is_distance(&frame.start_bound) || is_distance(&frame.end_bound))
}

/// Returns whether these are compared as intervals: one is an interval, and the others are or can become intervals.
fn is_compared(exprs: &[&Expr], schema: &DFSchema) -> bool {
    exprs.iter().any(|expr| is_length(expr, schema)) && exprs.iter().all(|expr| may_be_length(expr, schema))
}

fn of_binary(binary: BinaryExpr, schema: &DFSchema) -> Transformed<Expr> {
    let BinaryExpr { left, op, right } = binary;
    if is_comparison(op) && is_compared(&[left.as_ref(), right.as_ref()], schema) {
        let [left, right] = [left, right].map(|expr| Box::new(compared(*expr, schema)));
        return Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }));
    }
    Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}
