//! Replaces the subqueries of one step of a plan, except those that are left to DataFusion.

use super::answers::{SubqueryContext, answer, has_one_row};
use super::domain::{Domain, Names};
use super::first_conditions::before_subqueries;
use super::first_rows::computed_below;
use super::lateral::pulls_up;
use super::ordered_columns::over_mentioned_columns;
use super::outer_columns::{
    expression_subquery, has_distant_columns, outer_columns, reaches_beyond, schemas_of_inputs,
};
use crate::text::datafusion_errors::external;
use crate::text::errors::not_supported;
use crate::text::plan_subqueries::has_subquery;
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::logical_expr::expr::{InSubquery, SetComparison};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::{Distinct, DistinctOn, SkipType, check_subquery_expr};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::decorrelate::PullUpCorrelatedExpr;
use std::sync::Arc;

/// The name that comparisons of rows give the rows of their subquery.
const COMPARED_ROWS: &str = "\u{1}row";

/// Returns whether an expression of a step has a subquery.
pub(super) fn step_has_subquery(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.dyn_apply_expressions(|expr| {
        found = found || has_subquery(expr);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Replaces the subqueries of a step.
pub(super) fn of_step(plan: LogicalPlan, names: &Names) -> Result<Transformed<LogicalPlan>> {
    if let LogicalPlan::Distinct(Distinct::On(on)) = &plan
        && step_has_subquery(&plan)?
    {
        let (input, on) = computed_below(on, names)?;
        let input = Arc::new(of_step(input, names)?.data);
        return Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::On(DistinctOn { input, ..on }))));
    }
    if let LogicalPlan::Sort(sort) = &plan
        && let Some(wider) = over_mentioned_columns(sort, names)?
    {
        let columns = plan.schema().columns().into_iter().map(Expr::Column);
        let sorted = of_step(wider, names)?.data;
        return Ok(Transformed::yes(LogicalPlanBuilder::from(sorted).project(columns)?.build()?));
    }
    let keeps_columns = match &plan {
        LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Window(_) => true,
        LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_) => false,
        _ => return Ok(Transformed::no(plan)),
    };
    if !step_has_subquery(&plan)? {
        return Ok(Transformed::no(plan));
    }
    let split = before_subqueries(&plan)?;
    let step = split.as_ref().unwrap_or(&plan);
    let before = step.inputs()[0].clone();
    let schemas = schemas_of_inputs(step);
    let mut input = before.clone();
    let preserver = NamePreserver::new(step);
    let mut exprs = Vec::new();
    let mut is_changed = false;
    for expr in step.expressions() {
        let name = preserver.save(&expr);
        let may_be_left = !compares_subqueries(&expr)?;
        let rewritten = expr.dyn_transform_up(|expr| {
            let Some(subquery) = expression_subquery(&expr) else { return Ok(Transformed::no(expr)) };
            if reaches_beyond(&subquery.subquery, &schemas)? {
                return Ok(Transformed::no(expr));
            }
            if matches!(expr, Expr::ScalarSubquery(_))
                && let Some(value) = Domain::value_of_row(&subquery.subquery, &input, names)?
            {
                return Ok(Transformed::yes(value));
            }
            if may_be_left && is_left(step, &expr, &subquery.subquery)? {
                return Ok(Transformed::no(expr));
            }
            let context =
                SubqueryContext { input: &input, names, is_condition: matches!(step, LogicalPlan::Filter(_)) };
            match answer(&expr, &context)? {
                Some(found) => {
                    input = found.input.unwrap_or_else(|| input.clone());
                    Ok(Transformed::yes(found.expr))
                }
                None if loses_rows(&expr, &subquery.subquery)? => {
                    let what = "this subquery with columns of the query around it";
                    Err(external(not_supported(what).with_hint("write a join with the subquery instead")))
                }
                None => Ok(Transformed::no(expr)),
            }
        })?;
        is_changed |= rewritten.transformed;
        exprs.push(name.restore(rewritten.data));
    }
    if !is_changed {
        return Ok(Transformed::no(plan));
    }
    let columns = step.schema().columns();
    let widens = input != before;
    let rewritten = step.with_new_exprs(exprs, vec![input])?;
    if !keeps_columns || !widens {
        return Ok(Transformed::yes(rewritten));
    }
    let columns: Vec<Expr> = columns.into_iter().map(Expr::Column).collect();
    Ok(Transformed::yes(LogicalPlanBuilder::from(rewritten).project(columns)?.build()?))
}

/// Returns whether the value of a subquery that mentions outer columns is compared with the rows of another subquery.
/// DataFusion loses the outer columns of the first when it makes a join of the second.
fn compares_subqueries(expr: &Expr) -> Result<bool> {
    let mentions_outer_columns =
        |expr: &Expr| expression_subquery(expr).is_some_and(|subquery| !subquery.outer_ref_columns.is_empty());
    expr.dyn_exists(|expr| match expr {
        Expr::InSubquery(InSubquery { expr, .. }) | Expr::SetComparison(SetComparison { expr, .. }) => {
            expr.dyn_exists(|expr| Ok(mentions_outer_columns(expr)))
        }
        _ => Ok(false),
    })
}

/// Returns whether DataFusion rewrites a step's subquery itself.
fn is_left(plan: &LogicalPlan, expr: &Expr, subquery: &LogicalPlan) -> Result<bool> {
    if has_distant_columns(subquery)? {
        return Ok(false);
    }
    let is_condition = matches!(plan, LogicalPlan::Filter(_));
    let pull_up = PullUpCorrelatedExpr::new();
    Ok(match expr {
        // Without a row the value is NULL, even if the column of the subquery is never NULL. DataFusion overlooks that.
        Expr::ScalarSubquery(subquery) => {
            !subquery.outer_ref_columns.is_empty()
                && has_one_row(&subquery.subquery)
                && matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Projection(_))
                && check_subquery_expr(plan, &subquery.subquery, expr).is_ok()
                && pulls_up(&subquery.subquery, pull_up.with_need_handle_count_bug(true))?
        }
        Expr::Exists(exists) => {
            is_condition
                && !hides_outer_columns(&exists.subquery.subquery)?
                && !loses_rows(expr, subquery)?
                && (exists.subquery.outer_ref_columns.is_empty()
                    || pulls_up(&exists.subquery.subquery, pull_up.with_exists_sub_query(true))?)
        }
        Expr::InSubquery(member) => {
            is_condition
                && !loses_rows(expr, subquery)?
                && (member.subquery.outer_ref_columns.is_empty() || pulls_up(&member.subquery.subquery, pull_up)?)
        }
        _ => false,
    })
}

/// Returns whether DataFusion's join for an `EXISTS` or `IN` has other rows than its subquery: it has none for an outer
/// row whose aggregate without groups is over no rows, and those that `OFFSET` leaves out.
fn loses_rows(expr: &Expr, subquery: &LogicalPlan) -> Result<bool> {
    if !matches!(expr, Expr::Exists(_) | Expr::InSubquery(_)) {
        return Ok(false);
    }
    subquery.dyn_exists(|plan| {
        let counts_rows = match plan {
            LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
            LogicalPlan::Limit(limit) => !matches!(limit.get_skip_type()?, SkipType::Literal(0)),
            _ => false,
        };
        Ok(counts_rows && !outer_columns(plan)?.is_empty())
    })
}

/// Returns whether a comparison of rows with a subquery that mentions outer columns is in a plan. DataFusion moves the
/// conditions on these columns out of the subquery, although its name for the rows hides the columns that they need.
fn hides_outer_columns(plan: &LogicalPlan) -> Result<bool> {
    plan.dyn_exists(|plan| match plan {
        LogicalPlan::SubqueryAlias(alias) => {
            Ok(alias.alias.table() == COMPARED_ROWS && !alias.input.all_out_ref_exprs().is_empty())
        }
        _ => Ok(false),
    })
}
