//! Functions that return another value each time they are called, such as `random()`, in the operands of `BETWEEN`,
//! `IN` and `coalesce`. DataFusion 55.2 writes `x BETWEEN a AND b` as `x >= a AND x <= b`, and `coalesce(x, y)` as
//! `CASE WHEN x IS NOT NULL THEN x ELSE y END`, and other rules repeat operands, too: each copy would have a value of
//! its own. So such a call becomes a column before, which has one value for each row. A call in a branch of `CASE`, or
//! behind the first argument of `coalesce`, is computed only for the rows that come to it.
//!
//! No upstream issue known.

use crate::text::datafusion_errors::external;
use crate::text::errors::too_complex;
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use crate::text::volatile_functions::repeated_call;
use crate::workarounds::resources::repeated_parts::REPEATED_MAX;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, InList, InSubquery, ScalarFunction, SetComparison};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Projection;
use datafusion::logical_expr::{Case, Expr, LogicalPlan};
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

/// Puts a step that computes the calls before a step that has them in operands. Before a join there is no row for
/// which to compute them.
fn compute_before(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let has_operands = matches!(
        plan,
        LogicalPlan::Filter(_)
            | LogicalPlan::Projection(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Window(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Join(_)
    );
    if !has_operands || !is_volatile(&plan)? {
        return Ok(Transformed::no(plan));
    }
    let (mut calls, names) = (Calls::default(), NamePreserver::new(&plan));
    let mut exprs = Vec::new();
    for mut expr in plan.expressions() {
        let name = names.save(&expr);
        calls.visit(&mut expr, false)?;
        exprs.push(name.restore(expr));
    }
    if calls.columns.is_empty() {
        return Ok(Transformed::no(plan));
    }
    if matches!(plan, LogicalPlan::Join(_)) {
        return Err(external(repeated_call()));
    }
    let input = calls.beside(plan.inputs()[0].clone())?;
    let step = plan.with_new_exprs(exprs, vec![input])?;
    if matches!(plan, LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_)) {
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
struct Calls {
    columns: Vec<Expr>,
    /// The branches around the part that is visited.
    branches: Vec<Branch>,
    /// The number of parts of conditions that are repeated for calls in branches.
    repeated_count: u64,
}

impl Calls {
    /// Replaces the calls in the operands of an expression, or all calls if the expression itself is repeated.
    fn visit(&mut self, expr: &mut Expr, is_repeated: bool) -> Result<()> {
        if may_repeat_calls(expr, is_repeated)? {
            *expr = std::mem::take(expr).dyn_transform_down(|part| self.enter(part, is_repeated))?.data;
        }
        Ok(())
    }

    fn enter(&mut self, mut part: Expr, is_repeated: bool) -> Result<Transformed<Expr>> {
        let is_call = is_repeated && part.is_volatile_node();
        match &mut part {
            Expr::Between(Between { expr, low, high, .. }) => {
                for operand in [expr, low, high] {
                    self.visit(operand, true)?;
                }
            }
            Expr::InList(InList { expr, list, .. }) => {
                self.visit(expr, true)?;
                for item in list {
                    self.visit(item, is_repeated)?;
                }
            }
            Expr::InSubquery(InSubquery { expr, .. }) | Expr::SetComparison(SetComparison { expr, .. }) => {
                self.visit(expr, true)?;
            }
            Expr::Case(case) => self.visit_case(case, is_repeated)?,
            Expr::ScalarFunction(ScalarFunction { func, args }) if is_coalesce(func.name()) => {
                self.visit_coalesce(args, is_repeated)?;
            }
            Expr::ScalarFunction(ScalarFunction { args, .. }) if is_call => {
                for arg in args {
                    self.visit(arg, false)?;
                }
            }
            _ => return Ok(Transformed::no(part)),
        }
        let visited = if is_call { self.column(part)? } else { part };
        Ok(Transformed::new(visited, true, TreeNodeRecursion::Jump))
    }

    /// The calls in conditions become columns, too, if the conditions decide about other calls.
    fn visit_case(&mut self, case: &mut Case, is_repeated: bool) -> Result<()> {
        let mut decides = false;
        for (condition, then) in &case.when_then_expr {
            decides |= may_repeat_calls(condition, false)? || may_repeat_calls(then, is_repeated)?;
        }
        if let Some(other) = &case.else_expr {
            decides |= may_repeat_calls(other, is_repeated)?;
        }
        let mut branch = Branch::default();
        if let Some(operand) = &mut case.expr {
            self.visit(operand, is_repeated || decides)?;
            branch.operand = Some(operand.clone());
        }
        for (condition, then) in &mut case.when_then_expr {
            self.visit_in(&branch, condition, is_repeated || decides)?;
            branch.condition = Some(Expr::clone(condition));
            self.visit_in(&branch, then, is_repeated)?;
            branch.before.extend(branch.condition.take());
        }
        match &mut case.else_expr {
            Some(other) => self.visit_in(&branch, other, is_repeated),
            None => Ok(()),
        }
    }

    /// All arguments but the last one are tested and returned.
    fn visit_coalesce(&mut self, args: &mut [Expr], is_repeated: bool) -> Result<()> {
        let last = args.len().saturating_sub(1);
        let mut branch = Branch::default();
        for (at, arg) in args.iter_mut().enumerate() {
            self.visit_in(&branch, arg, is_repeated || at < last)?;
            branch.before.push(arg.clone().is_not_null());
        }
        Ok(())
    }

    fn visit_in(&mut self, branch: &Branch, part: &mut Expr, is_repeated: bool) -> Result<()> {
        if !may_repeat_calls(part, is_repeated)? {
            return Ok(());
        }
        self.branches.push(branch.clone());
        let visited = self.visit(part, is_repeated);
        self.branches.pop();
        visited
    }

    fn column(&mut self, call: Expr) -> Result<Expr> {
        for part in self.branches.iter().flat_map(Branch::parts) {
            part.dyn_apply(|_| {
                self.repeated_count += 1;
                Ok(match self.repeated_count > REPEATED_MAX {
                    true => TreeNodeRecursion::Stop,
                    false => TreeNodeRecursion::Continue,
                })
            })?;
            if self.repeated_count > REPEATED_MAX {
                return Err(external(too_complex()));
            }
        }
        let call = self.branches.iter().rev().fold(call, |call, branch| branch.with(call));
        self.columns.push(call);
        Ok(Expr::Column(Column::new_unqualified(name(self.columns.len() - 1))))
    }

    /// A plan with these columns after its own.
    fn beside(self, mut input: LogicalPlan) -> Result<LogicalPlan> {
        let mut added = Vec::new();
        for (at, call) in self.columns.into_iter().enumerate() {
            // A call may read the columns of calls before it.
            if !call.column_refs().into_iter().all(|column| input.schema().has_column(column)) {
                input = with_columns(input, std::mem::take(&mut added))?;
            }
            added.push(call.alias(name(at)));
        }
        with_columns(input, added)
    }
}

/// A part of a `CASE` that is computed only for some rows.
#[derive(Clone, Default)]
struct Branch {
    operand: Option<Box<Expr>>,
    /// The conditions that are not true.
    before: Vec<Expr>,
    /// The condition that is true.
    condition: Option<Expr>,
}

impl Branch {
    /// The expressions of the branch that are repeated for each call: its operand and its conditions.
    fn parts(&self) -> impl Iterator<Item = &Expr> {
        self.operand.as_deref().into_iter().chain(&self.before).chain(&self.condition)
    }

    /// A call for the rows of the branch, which is NULL in the other rows.
    fn with(&self, call: Expr) -> Expr {
        let null = || Box::new(Expr::Literal(ScalarValue::Null, None));
        let mut parts: Vec<_> = self.before.iter().map(|condition| (Box::new(condition.clone()), null())).collect();
        let other = match &self.condition {
            Some(condition) => {
                parts.push((Box::new(condition.clone()), Box::new(call)));
                None
            }
            None if parts.is_empty() => return call,
            None => Some(Box::new(call)),
        };
        Expr::Case(Case::new(self.operand.clone(), parts, other))
    }
}

/// Returns whether parts of an expression that are repeated may have calls.
fn may_repeat_calls(expr: &Expr, is_repeated: bool) -> Result<bool> {
    if is_repeated {
        return Ok(expr.is_volatile());
    }
    expr.dyn_exists(|part| {
        let has_operands = match part {
            Expr::Between(_) | Expr::InList(_) | Expr::InSubquery(_) | Expr::SetComparison(_) => true,
            Expr::ScalarFunction(call) => is_coalesce(call.func.name()),
            _ => false,
        };
        Ok(has_operands && part.is_volatile())
    })
}

fn is_coalesce(function: &str) -> bool {
    matches!(function, "coalesce" | "nvl")
}

fn with_columns(input: LogicalPlan, added: Vec<Expr>) -> Result<LogicalPlan> {
    let exprs = columns(&input).into_iter().chain(added).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?))
}

fn columns(plan: &LogicalPlan) -> Vec<Expr> {
    plan.schema().columns().into_iter().map(Expr::Column).collect()
}

fn name(at: usize) -> String {
    format!("\u{1}once{at}")
}
