//! Finds aggregates that group by `time_bucket_gapfill`. The aggregate gets plain buckets, and a [`GapFill`] above it.
//! `locf` and `interpolate` above that become columns of it.

use super::bounds::{Bound, bounds_below};
use super::fill::LongestGap;
use super::functions::{GAPFILL, INTERPOLATE, LOCF, bucket, call_of, misplaced};
use super::node::{Fill, FillKind, GapFill};
use super::steps::{Steps, Ticks};
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use crate::text::plan_subqueries::has_subquery;
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use crate::text::time_text::read_time;
use atsdb_core::TimeUnit;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::logical_expr::logical_plan::{Aggregate, Extension};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator, cast};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use std::sync::Arc;

/// The rule, which runs after type coercion.
#[derive(Debug)]
pub struct FillGaps;

impl AnalyzerRule for FillGaps {
    fn name(&self) -> &str {
        "fill_gaps"
    }

    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        if first_mark(&plan)?.is_none() {
            return Ok(plan);
        }
        let plan = plan.dyn_transform_up_with_subqueries(|plan| rewrite(plan, config).map(Transformed::yes))?.data;
        match first_mark(&plan)? {
            Some(name) => Err(misplaced(name)),
            None => Ok(plan),
        }
    }
}

/// A call of one of the functions anywhere in a plan.
fn first_mark(plan: &LogicalPlan) -> Result<Option<&'static str>> {
    let mut found = None;
    plan.dyn_apply_with_subqueries(|plan| {
        plan.dyn_apply_expressions(|expr| {
            expr.dyn_apply(|expr| {
                found = [GAPFILL, LOCF, INTERPOLATE].into_iter().find(|name| call_of(expr, name).is_some());
                Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            })
        })
    })?;
    Ok(found)
}

fn rewrite(plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
    if let LogicalPlan::Aggregate(aggregate) = &plan {
        return match aggregate.group_expr.iter().position(|expr| call_of(expr, GAPFILL).is_some()) {
            Some(at) => filled(aggregate, at, config),
            None => plan.recompute_schema(),
        };
    }
    let mut fills = Vec::new();
    let plan = plan.dyn_map_expressions(|expr| {
        expr.dyn_transform_down(|expr| {
            let name = expr.schema_name().to_string();
            let (kind, arguments) = match (call_of(&expr, LOCF), call_of(&expr, INTERPOLATE)) {
                (Some(arguments), _) => (FillKind::CarryForward, arguments),
                (_, Some(arguments)) => (FillKind::Interpolation, arguments),
                _ => return Ok(Transformed::no(expr)),
            };
            fills.push((kind, arguments.to_vec(), name.clone()));
            Ok(Transformed::new(Expr::Column(Column::new_unqualified(name)), true, TreeNodeRecursion::Jump))
        })
    })?;
    if fills.is_empty() {
        return plan.data.recompute_schema();
    }
    let plan = plan.data;
    let mut inputs = plan.inputs().into_iter();
    let (Some(input), None) = (inputs.next(), inputs.next()) else { return Err(misplaced(LOCF)) };
    let input = with_fills(input, &fills, config)?;
    plan.with_new_exprs(plan.expressions(), vec![input])?.recompute_schema()
}

/// The plan with further columns from the [`GapFill`] at the end of its single line of inputs.
fn with_fills(
    plan: &LogicalPlan,
    fills: &[(FillKind, Vec<Expr>, String)],
    config: &ConfigOptions,
) -> Result<LogicalPlan> {
    let misplaced = || misplaced(if fills[0].0 == FillKind::CarryForward { LOCF } else { INTERPOLATE });
    match plan {
        LogicalPlan::Extension(extension) => {
            let node = extension.node.as_any().downcast_ref::<GapFill>().ok_or_else(misplaced)?;
            let mut node = node.clone();
            for (kind, arguments, name) in fills {
                let (value, longest_gap) = (arguments[0].clone(), arguments.get(1));
                if !value.column_refs().iter().all(|column| node.input.schema().has_column(column)) {
                    return Err(misplaced());
                }
                let longest_gap = match longest_gap {
                    Some(longest_gap) => {
                        LongestGap::new(&constant(longest_gap, "the longest gap", config)?, node.ticks)
                            .map_err(external)?
                    }
                    None => None,
                };
                node = node.with_fill(Fill { kind: *kind, value, longest_gap, name: name.clone() })?;
            }
            Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
        }
        LogicalPlan::Filter(_) | LogicalPlan::Window(_) | LogicalPlan::Sort(_) => {
            let input = with_fills(plan.inputs()[0], fills, config)?;
            plan.with_new_exprs(plan.expressions(), vec![input])?.recompute_schema()
        }
        _ => Err(misplaced()),
    }
}

/// The aggregate with plain buckets, and the step that fills its gaps.
fn filled(aggregate: &Aggregate, at: usize, config: &ConfigOptions) -> Result<LogicalPlan> {
    let call = &aggregate.group_expr[at];
    let arguments = call_of(call, GAPFILL).unwrap_or_default();
    let [width, time, rest @ ..] = arguments else { return Err(misplaced(GAPFILL)) };
    let input = &aggregate.input;
    let time = match time.get_type(input.schema())? {
        ty if ty.is_integer() && ty != DataType::Int64 => cast(time.clone(), DataType::Int64),
        _ => time.clone(),
    };
    let ticks = Ticks::of(&time.get_type(input.schema())?).ok_or_else(|| misplaced(GAPFILL))?;
    let (zone, ends) = match rest {
        [first, ends @ ..] if ends.len() != 1 => match zone_name(first, config)? {
            Some(zone) => (Some(zone), ends),
            None => (None, rest),
        },
        _ => (None, rest),
    };
    let mut bounds = bounds_below(input, &time);
    for (value, operator) in ends.iter().zip([Operator::GtEq, Operator::Lt]) {
        let bound = Bound { operator, value: value.clone() };
        if value.any_column_refs() || has_subquery(value) {
            return Err(external(sql_error(format!("time_bucket_gapfill: {value} is not the same for all rows"))));
        }
        if !matches!(value, Expr::Literal(literal, _) if literal.is_null()) {
            bounds.retain(|other| other.is_start() != bound.is_start());
            bounds.push(bound);
        }
    }
    let width = constant(width, "the width of buckets", config)?;
    Steps::new(&width, zone.as_deref(), ticks).map_err(external)?;
    let mut group = aggregate.group_expr.clone();
    group[at] = bucket(width.clone(), time, zone.as_deref()).alias(call.schema_name().to_string());
    let group_count = group.len();
    let plain = Aggregate::try_new(Arc::clone(input), group, aggregate.aggr_expr.clone())?;
    let node = GapFill::new(LogicalPlan::Aggregate(plain), group_count, at, width, zone, ticks, bounds)?;
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
}

/// The zone that an argument names, unless it is a time.
fn zone_name(argument: &Expr, config: &ConfigOptions) -> Result<Option<String>> {
    let Expr::Literal(..) = argument else { return Ok(None) };
    let value = constant(argument, "the time zone", config)?;
    let name = value.try_as_str().flatten().filter(|text| read_time(text, TimeUnit::Nanosecond).is_none());
    Ok(name.map(str::to_owned))
}

/// The value of an argument that is the same for all rows.
fn constant(expr: &Expr, what: &str, config: &ConfigOptions) -> Result<ScalarValue> {
    if let Expr::Literal(value, _) = expr {
        return Ok(value.clone());
    }
    let not_constant = || external(sql_error(format!("{what} is not the same for all rows: {expr}")));
    if expr.any_column_refs() {
        return Err(not_constant());
    }
    let context = SimplifyContext::builder().with_config_options(Arc::new(config.clone())).build();
    match ExprSimplifier::new(context).simplify(expr.clone())?.unalias() {
        Expr::Literal(value, _) => Ok(value),
        _ => Err(not_constant()),
    }
}
