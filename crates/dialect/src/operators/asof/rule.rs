//! Turns each join whose condition has the mark into an [`AsofJoin`], and moves conditions on its left side below it.

use super::node::{AsofJoin, MatchCondition, Tolerance};
use crate::functions::base::arguments::per_second;
use crate::functions::times::difference::operands_of_difference;
use crate::functions::times::interval::interval_of;
use crate::text::errors::sql_error;
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use atsdb_core::time::DAY_SECONDS;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, JoinType, Result, ScalarValue};
use datafusion::logical_expr::logical_plan::{Extension, Filter, Join};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;
use datafusion::logical_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility, cast,
};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::optimizer::{AnalyzerRule, ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// The function that marks an ASOF join, as the first part of its condition.
pub(super) const MARK: &str = "asof_match";

/// Returns the function that marks an ASOF join, for registration.
pub fn mark() -> ScalarUDF {
    ScalarUDF::new_from_impl(AsofMark { signature: Signature::nullary(Volatility::Volatile) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct AsofMark {
    signature: Signature,
}

impl ScalarUDFImpl for AsofMark {
    fn name(&self) -> &str {
        MARK
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(wrong("asof_match cannot be used outside of an ASOF JOIN".to_owned()))
    }
}

/// As an analyzer rule, it runs before type coercion, because times of different units are compared unchanged. Later it
/// runs as an optimizer rule.
#[derive(Debug)]
pub struct JoinAsOf;

impl AnalyzerRule for JoinAsOf {
    fn name(&self) -> &str {
        "join_as_of"
    }

    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.dyn_transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Join(join) if has_mark(join.filter.as_ref()) => {
                let node = planned(&join, config)?;
                Ok(Transformed::yes(LogicalPlan::Extension(Extension { node: Arc::new(node) })))
            }
            other => Ok(Transformed::no(other)),
        })
        .data()
    }
}

impl OptimizerRule for JoinAsOf {
    fn name(&self) -> &str {
        "push_down_asof_filter"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    /// Moves a condition on the left side to that side, and one on the equal columns to both sides.
    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(filter) = &plan else { return Ok(Transformed::no(plan)) };
        let LogicalPlan::Extension(extension) = filter.input.as_ref() else { return Ok(Transformed::no(plan)) };
        let Some(node) = extension.node.as_any().downcast_ref::<AsofJoin>() else { return Ok(Transformed::no(plan)) };
        let is_below =
            |part: &Expr| part.any_column_refs() && reads_only(part, node.left.schema()) && !part.is_volatile();
        let (below, above): (Vec<Expr>, Vec<Expr>) =
            split_conjunction_owned(filter.predicate.clone()).into_iter().partition(is_below);
        if below.is_empty() {
            return Ok(Transformed::no(plan));
        }
        let of_right: Vec<Expr> = below.iter().filter_map(|part| on_right(part, &node.on)).collect();
        let filtered = |input: &Arc<LogicalPlan>, parts: Vec<Expr>| -> Result<Arc<LogicalPlan>> {
            Ok(match conjunction(parts) {
                Some(predicate) => Arc::new(LogicalPlan::Filter(Filter::try_new(predicate, Arc::clone(input))?)),
                None => Arc::clone(input),
            })
        };
        let sides = (filtered(&node.left, below)?, filtered(&node.right, of_right)?);
        let node = AsofJoin::new(sides, node.on.clone(), node.at.clone(), node.ticks, node.condition)?;
        let plan = Arc::new(LogicalPlan::Extension(Extension { node: Arc::new(node) }));
        let plan = Arc::unwrap_or_clone(filtered(&plan, above)?);
        Ok(Transformed::yes(plan))
    }
}

/// A condition on columns of the left side, rewritten to the columns of the right side that must be equal to them.
fn on_right(part: &Expr, on: &[(Expr, Expr)]) -> Option<Expr> {
    let mut is_whole = true;
    let changed = part.clone().dyn_transform_down(|expr| {
        let Expr::Column(_) = &expr else { return Ok(Transformed::no(expr)) };
        match on.iter().find(|(left, right)| *left == expr && matches!(right, Expr::Column(_))) {
            Some((_, right)) => Ok(Transformed::new(right.clone(), true, TreeNodeRecursion::Jump)),
            None => {
                is_whole = false;
                Ok(Transformed::no(expr))
            }
        }
    });
    changed.ok().filter(|_| is_whole).map(|changed| changed.data)
}

fn has_mark(condition: Option<&Expr>) -> bool {
    condition.is_some_and(|condition| split_conjunction(condition).into_iter().any(is_mark))
}

fn is_mark(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.func.inner().downcast_ref::<AsofMark>().is_some())
}

fn wrong(message: String) -> DataFusionError {
    DataFusionError::External(Box::new(sql_error(message).with_hint(
        "ASOF JOIN b ON a.k = b.k AND a.t >= b.t AND a.t - b.t <= INTERVAL '5 minutes'; other conditions go into WHERE",
    )))
}

fn reads_only(expr: &Expr, schema: &DFSchema) -> bool {
    expr.column_refs().iter().all(|column| schema.has_column(column))
}

/// A comparison with the left side's columns before the operator and the right side's after it.
struct Comparison {
    left: Expr,
    operator: Operator,
    right: Expr,
}

fn planned(join: &Join, config: &ConfigOptions) -> Result<AsofJoin> {
    let is_left = match join.join_type {
        JoinType::Left => true,
        JoinType::Inner => false,
        other => return Err(wrong(format!("ASOF {other} JOIN is not supported"))),
    };
    let (left, right) = (join.left.schema(), join.right.schema());
    let (mut on, mut inequalities, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for part in join.filter.iter().flat_map(split_conjunction).filter(|part| !is_mark(part)) {
        match compared(part, left, right) {
            Some(Comparison { left, operator: Operator::Eq, right }) => on.push((left, right)),
            Some(comparison) if !is_shifted(&comparison.left) && !is_shifted(&comparison.right) => {
                inequalities.push(comparison);
            }
            _ => rest.push(part),
        }
    }
    if inequalities.is_empty()
        && let Some(at) = rest.iter().position(|part| compared(part, left, right).is_some())
    {
        inequalities.extend(compared(rest.remove(at), left, right));
    }
    let [Comparison { left: left_time, operator, right: right_time }] = inequalities.as_slice() else {
        return Err(wrong(match inequalities.len() {
            0 => "ASOF JOIN needs an inequality between the times of both sides".to_owned(),
            _ => "ASOF JOIN takes one inequality between times of both sides, not several".to_owned(),
        }));
    };
    let (left_time, left_tick) = time_of(left_time, left)?;
    let (right_time, right_tick) = time_of(right_time, right)?;
    let is_integer = (left_tick == 0, right_tick == 0);
    if is_integer.0 != is_integer.1 {
        return Err(wrong("ASOF JOIN: one side's time is a TIMESTAMP, the other's an integer".to_owned()));
    }
    let mut condition = MatchCondition { operator: *operator, tolerance: None, is_left };
    let ends = if condition.is_backward() { (&left_time, &right_time) } else { (&right_time, &left_time) };
    for part in rest {
        let Some((limit, strict)) = tolerance(part, bare(ends.0), bare(ends.1)) else {
            return Err(wrong(format!("ASOF JOIN: {part} is neither an equality nor a tolerance of its times")));
        };
        if condition.tolerance.is_some() {
            return Err(wrong("ASOF JOIN takes one tolerance".to_owned()));
        }
        let distance = distance_of(&constant(limit, config)?, is_integer.0)?;
        condition.tolerance = Some(Tolerance { distance, strict });
    }
    let on = on.into_iter().map(|(a, b)| same_type((a, left), (b, right))).collect::<Result<_>>()?;
    let ticks = (left_tick.max(1), right_tick.max(1));
    AsofJoin::new((Arc::clone(&join.left), Arc::clone(&join.right)), on, (left_time, right_time), ticks, condition)
}

/// A comparison between the sides, swapped if needed so that the left side comes first.
fn compared(part: &Expr, left: &DFSchema, right: &DFSchema) -> Option<Comparison> {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq};
    let Expr::BinaryExpr(BinaryExpr { left: a, op, right: b }) = part else { return None };
    if !matches!(op, Eq | Gt | GtEq | Lt | LtEq) || !a.any_column_refs() || !b.any_column_refs() {
        return None;
    }
    let (a, b) = (a.as_ref(), b.as_ref());
    if reads_only(a, left) && reads_only(b, right) {
        return Some(Comparison { left: a.clone(), operator: *op, right: b.clone() });
    }
    (reads_only(a, right) && reads_only(b, left))
        .then(|| Some(Comparison { left: b.clone(), operator: op.swap()?, right: a.clone() }))?
}

fn is_shifted(expr: &Expr) -> bool {
    let expr = bare(expr);
    matches!(expr, Expr::BinaryExpr(BinaryExpr { op: Operator::Plus | Operator::Minus, .. }))
        || operands_of_difference(expr).is_some()
}

fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => bare(&alias.expr),
        Expr::Cast(cast) => bare(&cast.expr),
        other => other,
    }
}

/// A side's time as a number, and the length of its unit in nanoseconds; 0 for an integer.
fn time_of(expr: &Expr, schema: &DFSchema) -> Result<(Expr, i64)> {
    let nanos = match expr.get_type(schema)? {
        DataType::Timestamp(unit, _) => 1_000_000_000 / per_second(unit),
        DataType::Date32 => return Ok((cast(expr.clone(), DataType::Int32), DAY_SECONDS * 1_000_000_000)),
        ty if ty.is_integer() && ty != DataType::UInt64 => 0,
        other => return Err(wrong(format!("ASOF JOIN: {expr} is not a time, but {other}"))),
    };
    Ok((expr.clone(), nanos))
}

/// The maximum distance from an earlier to a later time that a condition sets, and whether the limit itself is
/// excluded.
fn tolerance<'a>(part: &'a Expr, later: &Expr, earlier: &Expr) -> Option<(&'a Expr, bool)> {
    use Operator::{Gt, GtEq, Lt, LtEq, Minus, Plus};
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = part else { return None };
    let (small, op, large) = match op {
        Lt | LtEq => (left.as_ref(), *op, right.as_ref()),
        Gt | GtEq => (right.as_ref(), op.swap()?, left.as_ref()),
        _ => return None,
    };
    let shifted = |expr: &'a Expr, by: Operator| match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == by => Some((left.as_ref(), right.as_ref())),
        other if by == Minus => operands_of_difference(other),
        _ => None,
    };
    let limit = match (shifted(small, Minus), shifted(large, Plus)) {
        // later - earlier <= limit
        (Some((a, b)), _) if bare(a) == later && bare(b) == earlier && !large.any_column_refs() => large,
        // later - limit <= earlier
        (Some((a, limit)), _) if bare(a) == later && bare(large) == earlier => limit,
        // later <= earlier + limit
        (_, Some((b, limit))) if bare(small) == later && bare(b) == earlier => limit,
        _ => return None,
    };
    (!limit.any_column_refs()).then_some((limit, op == Lt))
}

fn distance_of(limit: &ScalarValue, is_integer: bool) -> Result<i128> {
    let bad = |why: &str| wrong(format!("ASOF JOIN: a tolerance of {limit} {why}"));
    if is_integer {
        return match limit.cast_to(&DataType::Int64) {
            Ok(ScalarValue::Int64(Some(distance))) if limit.data_type().is_integer() => Ok(distance.into()),
            _ => Err(bad("does not fit integer times: it is an integer")),
        };
    }
    let interval = interval_of(limit).map_err(|error| DataFusionError::External(Box::new(error)))?;
    match interval {
        Some(interval) if interval.months == 0 => {
            let days = i128::from(interval.days) * i128::from(DAY_SECONDS) * 1_000_000_000;
            Ok(days + i128::from(interval.nanoseconds))
        }
        Some(_) => Err(bad("has no fixed length")),
        None => Err(bad("matches nothing")),
    }
}

fn constant(expr: &Expr, config: &ConfigOptions) -> Result<ScalarValue> {
    let context = SimplifyContext::builder().with_config_options(Arc::new(config.clone())).build();
    match ExprSimplifier::new(context).simplify(expr.clone())?.unalias() {
        Expr::Literal(value, _) => Ok(value),
        other => Err(wrong(format!("ASOF JOIN: the tolerance {other} is not the same for all rows"))),
    }
}

/// Casts two expressions that must be equal to the same type.
fn same_type((a, left): (Expr, &DFSchema), (b, right): (Expr, &DFSchema)) -> Result<(Expr, Expr)> {
    let (of_a, of_b) = (a.get_type(left)?, b.get_type(right)?);
    if of_a == of_b {
        return Ok((a, b));
    }
    let Some(common) = comparison_coercion(&of_a, &of_b) else {
        return Err(wrong(format!("ASOF JOIN: {a} and {b} cannot be compared")));
    };
    // Two dictionaries of different widths are compared as strings.
    let common = match common {
        DataType::Dictionary(_, values) => *values,
        other => other,
    };
    let into = |expr: Expr, ty: DataType| if ty == common { expr } else { cast(expr, common.clone()) };
    Ok((into(a, of_a), into(b, of_b)))
}
