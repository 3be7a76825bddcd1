//! Conditions that need no subquery hold before one is computed for the rows: a `LATERAL` subquery, or one in another
//! condition, may fail for rows that they leave out.

use super::outer_columns::subquery_of;
use crate::text::plan_subqueries::has_subquery;
use crate::text::plan_walk::DynPlanWalk;
use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::logical_plan::{Filter, Join};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan};
use std::sync::Arc;

/// Moves conditions on the outer rows of `LATERAL` subqueries below the join with them.
pub(super) fn before_lateral(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.dyn_transform_down_with_subqueries(|plan| match plan {
        LogicalPlan::Filter(filter) if joins_lateral(&filter.input) => {
            let before = split_conjunction_owned(filter.predicate.clone());
            let input = filter.input.as_ref().clone();
            let (input, after) = filtered_first(input, before.clone())?;
            if after.len() == before.len() {
                return Ok(Transformed::no(LogicalPlan::Filter(filter)));
            }
            filtered(input, after).map(Transformed::yes)
        }
        other => Ok(Transformed::no(other)),
    })
}

/// A filter whose plain conditions hold before those with subqueries; `None` if the step is something else.
pub(super) fn before_subqueries(plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    let LogicalPlan::Filter(filter) = plan else { return Ok(None) };
    let (first, last): (Vec<Expr>, Vec<Expr>) =
        split_conjunction_owned(filter.predicate.clone()).into_iter().partition(may_move);
    if first.is_empty() || last.is_empty() {
        return Ok(None);
    }
    filtered(filtered(filter.input.as_ref().clone(), first)?, last).map(Some)
}

/// Returns whether a join, or one on its left side, is with a `LATERAL` subquery.
fn joins_lateral(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Join(join) => subquery_of(&join.right).is_some() || joins_lateral(&join.left),
        _ => false,
    }
}

/// The rows of a join for which conditions hold, and the conditions that are left.
fn filtered_first(plan: LogicalPlan, conditions: Vec<Expr>) -> Result<(LogicalPlan, Vec<Expr>)> {
    let join = match plan {
        LogicalPlan::Join(join)
            if matches!(join.join_type, JoinType::Inner | JoinType::Left)
                && (subquery_of(&join.right).is_some() || joins_lateral(&join.left)) =>
        {
            join
        }
        other => return Ok((other, conditions)),
    };
    let is_of_left = |condition: &Expr| {
        let mut columns = condition.column_refs().into_iter();
        may_move(condition)
            && columns.all(|column| join.left.schema().has_column(column) && !join.right.schema().has_column(column))
    };
    let (of_left, after): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(is_of_left);
    if of_left.is_empty() {
        return Ok((LogicalPlan::Join(join), after));
    }
    let (left, rest) = filtered_first(join.left.as_ref().clone(), of_left)?;
    let left = Arc::new(filtered(left, rest)?);
    Ok((LogicalPlan::Join(Join { left, ..join }), after))
}

fn filtered(plan: LogicalPlan, conditions: Vec<Expr>) -> Result<LogicalPlan> {
    Ok(match conjunction(conditions) {
        Some(condition) => LogicalPlan::Filter(Filter::try_new(condition, Arc::new(plan))?),
        None => plan,
    })
}

/// Returns whether a condition may be evaluated before others, and for rows that are read twice.
fn may_move(condition: &Expr) -> bool {
    !condition.is_volatile() && !has_subquery(condition)
}
