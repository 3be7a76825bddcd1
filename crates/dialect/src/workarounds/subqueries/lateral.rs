//! `LATERAL` subqueries that DataFusion cannot rewrite: those with `ORDER BY` and `LIMIT`, with conditions other than
//! equalities, or over the elements of an array, as in `FROM t, unnest(t.a)`. Those that only compute something from
//! each row, as in `FROM t, LATERAL (SELECT t.a + 1)`, need no join.

use super::domain::{Domain, Names};
use super::outer_columns::{has_distant_columns, outer_columns, reaches_beyond, subquery_of};
use crate::text::plan_subqueries::has_subquery;
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{NullEquality, Result};
use datafusion::logical_expr::logical_plan::{
    Distinct, DistinctOn, FetchType, Filter, Join, Limit, Projection, SkipType, Window,
};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::decorrelate::PullUpCorrelatedExpr;
use std::sync::Arc;

/// Rewrites a join whose right side mentions the left side's columns.
pub(super) fn lateral(join: Join, names: &Names) -> Result<Transformed<LogicalPlan>> {
    let domain = Domain::of(&join.right, &join.left, names)?;
    if domain.columns.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    // DataFusion marks no subquery that mentions these columns only in a subquery or a join of its own.
    let subquery = subquery_of(&join.right);
    if let Some(subquery) = subquery
        && join.join_type == JoinType::Inner
        && is_of_one_row(subquery)?
        && let Some(plan) = applied(&join, names)?
    {
        return Ok(Transformed::yes(plan));
    }
    let is_left = match subquery {
        Some(subquery) => is_left(subquery, &join)?,
        None => false,
    };
    if is_left || !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    let Some(right) = domain.spread(&join.right)? else { return Ok(Transformed::no(LogicalPlan::Join(join))) };
    let columns: Vec<Expr> = join.schema.columns().into_iter().map(Expr::Column).collect();
    let equalities = join.on.iter().map(|(left, right)| left.clone().eq(right.clone()));
    let condition = conjunction(equalities.chain(join.filter.clone()));
    let plan = LogicalPlanBuilder::from(join.left.as_ref().clone())
        .join_detailed(
            right.plan,
            join.join_type,
            (domain.columns, right.values),
            condition,
            NullEquality::NullEqualsNull,
        )?
        .project(columns)?
        .build()?;
    Ok(Transformed::yes(plan))
}

/// Returns whether DataFusion rewrites a `LATERAL` subquery itself.
fn is_left(subquery: &LogicalPlan, join: &Join) -> Result<bool> {
    let pull_up = PullUpCorrelatedExpr::new().with_need_handle_count_bug(true);
    let is_changed = subquery.dyn_exists(|plan| {
        let is_changed = match plan {
            // A column that a condition needs would make rows distinct.
            LogicalPlan::Distinct(_) => true,
            // In an aggregate's row of no rows, a value that mentions no aggregate would be NULL.
            LogicalPlan::Projection(Projection { expr, input, .. }) => {
                is_total(input) && expr.iter().any(|expr| expr.column_refs().is_empty())
            }
            // HAVING would not see that row.
            LogicalPlan::Filter(Filter { input, .. }) => is_total(input),
            _ => false,
        };
        Ok(is_changed && !outer_columns(plan)?.is_empty())
    })?;
    Ok(!is_changed
        && !has_distant_columns(subquery)?
        && !reaches_beyond(subquery, &[Arc::clone(join.left.schema())])?
        && pulls_up(subquery, pull_up)?)
}

/// Returns whether a plan is an aggregate without groups, which has a row even if it is over none.
fn is_total(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::Sort(_) => is_total(plan.inputs()[0]),
        _ => false,
    }
}

/// Returns whether a subquery computes its rows from one outer row each, such as `SELECT t.a + 1` and `SELECT
/// unnest(t.a)`.
fn is_of_one_row(subquery: &LogicalPlan) -> Result<bool> {
    let mut is_plain = true;
    subquery.dyn_apply_with_subqueries(|plan| {
        match plan {
            LogicalPlan::Projection(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Unnest(_) => {}
            LogicalPlan::EmptyRelation(empty) if empty.produce_one_row => {}
            _ => is_plain = false,
        }
        plan.dyn_apply_expressions(|expr| {
            is_plain &= !has_subquery(expr);
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(is_plain)
}

/// The rows that such a subquery returns for each row of the left side.
fn applied(join: &Join, names: &Names) -> Result<Option<LogicalPlan>> {
    let Some(right) = Domain::of_rows(&join.left, names).spread(&join.right)? else { return Ok(None) };
    let of_left = join.left.schema().iter().zip(right.values);
    let of_left = of_left
        .map(|((qualifier, field), value)| Expr::Column(value).alias_qualified(qualifier.cloned(), field.name()));
    let of_right = join.right.schema().columns().into_iter().map(Expr::Column);
    let plan = LogicalPlanBuilder::from(right.plan).project(of_left.chain(of_right).collect::<Vec<_>>())?;
    let equalities = join.on.iter().map(|(left, right)| left.clone().eq(right.clone()));
    let plan = match conjunction(equalities.chain(join.filter.clone())) {
        Some(condition) => plan.filter(condition)?,
        None => plan,
    };
    plan.build().map(Some)
}

/// Returns whether DataFusion can move the conditions on outer columns out of a subquery.
pub(super) fn pulls_up(subquery: &LogicalPlan, mut pull_up: PullUpCorrelatedExpr) -> Result<bool> {
    let has_fixed = subquery.dyn_exists(|plan| match plan {
        LogicalPlan::Join(join) => has_fixed_conditions(join),
        // The rows that are left out would be counted, and might be the first.
        LogicalPlan::Window(Window { input, .. }) | LogicalPlan::Distinct(Distinct::On(DistinctOn { input, .. })) => {
            Ok(!outer_columns(input)?.is_empty())
        }
        LogicalPlan::Limit(limit) => has_computed_bounds(limit),
        _ => Ok(false),
    })?;
    Ok(!has_fixed && subquery.clone().rewrite(&mut pull_up).is_ok() && pull_up.can_pull_up)
}

/// Returns whether a bound of a limit is not a number, but an expression, which may mention outer columns.
fn has_computed_bounds(limit: &Limit) -> Result<bool> {
    Ok(!matches!((limit.get_skip_type()?, limit.get_fetch_type()?), (SkipType::Literal(_), FetchType::Literal(_))))
}

/// Returns whether a join has conditions on outer columns on a side from which they cannot be moved above it.
/// DataFusion moves them all the same.
fn has_fixed_conditions(join: &Join) -> Result<bool> {
    use JoinType::{Full, Inner, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark, RightSemi};
    let (is_left_fixed, is_right_fixed) = match join.join_type {
        Inner => (false, false),
        Left => (false, true),
        Right => (true, false),
        // INTERSECT and EXCEPT have only the columns that they compare.
        LeftAnti | LeftMark | LeftSemi | RightAnti | RightMark | RightSemi | Full => (true, true),
    };
    let left = [Arc::clone(join.left.schema())];
    Ok(is_left_fixed && !outer_columns(&join.left)?.is_empty() || is_right_fixed && reaches_beyond(&join.right, &left)?)
}
