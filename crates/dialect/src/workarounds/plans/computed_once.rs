//! Functions that return another value each time they are called, such as `random()`, in the operands of `BETWEEN`,
//! `IN` and `coalesce`. DataFusion 55.2 writes `x BETWEEN a AND b` as `x >= a AND x <= b`, and `coalesce(x, y)` as
//! `CASE WHEN x IS NOT NULL THEN x ELSE y END`, and other rules repeat operands, too: each copy would have a value of
//! its own. So such a call becomes a column before, which has one value for each row.
//!
//! No upstream issue known.

use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr::{Between, InList, InSubquery, ScalarFunction, SetComparison};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Projection;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Runs before the rules that repeat operands.
#[derive(Debug)]
pub(crate) struct ComputedOnce;

impl AnalyzerRule for ComputedOnce {
    fn name(&self) -> &str {
        "computed_once"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.dyn_transform_up_with_subqueries(compute_before).data()
    }
}

/// Puts a step that computes the calls before a step that has them in operands.
fn compute_before(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let has_operands = matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_));
    if !has_operands || !is_volatile(&plan)? {
        return Ok(Transformed::no(plan));
    }
    let (mut calls, names) = (Calls::default(), NamePreserver::new(&plan));
    let mut exprs = Vec::new();
    for expr in plan.expressions() {
        let name = names.save(&expr);
        let expr = expr.dyn_transform_up(|expr| calls.in_operands(expr))?.data;
        exprs.push(name.restore(expr));
    }
    if calls.0.is_empty() {
        return Ok(Transformed::no(plan));
    }
    let input = calls.beside(plan.inputs()[0].clone())?;
    let step = plan.with_new_exprs(exprs, vec![input])?;
    if !matches!(plan, LogicalPlan::Filter(_)) {
        return Ok(Transformed::yes(step));
    }
    let shown = Projection::try_new_with_schema(columns(&plan), Arc::new(step), Arc::clone(plan.schema()))?;
    Ok(Transformed::yes(LogicalPlan::Projection(shown)))
}

fn is_volatile(plan: &LogicalPlan) -> Result<bool> {
    let mut is_volatile = false;
    plan.dyn_apply_expressions(|expr| {
        is_volatile |= expr.is_volatile();
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(is_volatile)
}

/// The calls that become columns.
#[derive(Default)]
struct Calls(Vec<Expr>);

impl Calls {
    /// Replaces the calls in the operands of an expression, whose parts have been visited.
    fn in_operands(&mut self, mut expr: Expr) -> Result<Transformed<Expr>> {
        let operands: Vec<&mut Expr> = match &mut expr {
            Expr::Between(Between { expr, low, high, .. }) => vec![expr.as_mut(), low.as_mut(), high.as_mut()],
            Expr::InList(InList { expr, .. })
            | Expr::InSubquery(InSubquery { expr, .. })
            | Expr::SetComparison(SetComparison { expr, .. }) => vec![expr.as_mut()],
            // All arguments but the last one are tested and returned.
            Expr::ScalarFunction(ScalarFunction { func, args }) if matches!(func.name(), "coalesce" | "nvl") => {
                let last = args.len().saturating_sub(1);
                args[..last].iter_mut().collect()
            }
            _ => return Ok(Transformed::no(expr)),
        };
        for operand in operands {
            let replaced = std::mem::take(operand).dyn_transform_down(|part| Ok(self.column(part)))?;
            *operand = replaced.data;
        }
        Ok(Transformed::yes(expr))
    }

    fn column(&mut self, part: Expr) -> Transformed<Expr> {
        if !part.is_volatile_node() {
            return Transformed::no(part);
        }
        self.0.push(part);
        let column = Expr::Column(Column::new_unqualified(name(self.0.len() - 1)));
        Transformed::new(column, true, TreeNodeRecursion::Jump)
    }

    /// A plan with these columns after its own.
    fn beside(self, input: LogicalPlan) -> Result<LogicalPlan> {
        let calls = self.0.into_iter().enumerate().map(|(at, call)| call.alias(name(at)));
        let exprs = columns(&input).into_iter().chain(calls).collect();
        Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?))
    }
}

fn columns(plan: &LogicalPlan) -> Vec<Expr> {
    plan.schema().columns().into_iter().map(Expr::Column).collect()
}

fn name(at: usize) -> String {
    format!("\u{1}once{at}")
}
