//! `LATERAL` subqueries that DataFusion cannot rewrite: those with `ORDER BY` and `LIMIT`, or with conditions other
//! than equalities.

use super::domain::{Domain, Names};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{NullEquality, Result};
use datafusion::logical_expr::logical_plan::Join;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::decorrelate::PullUpCorrelatedExpr;

/// Rewrites a join whose right side mentions the left side's columns.
pub(super) fn lateral(join: Join, names: &Names) -> Result<Transformed<LogicalPlan>> {
    let Some(subquery) = subquery_of(&join.right) else { return Ok(Transformed::no(LogicalPlan::Join(join))) };
    let domain = Domain::of(&join.right, &join.left, names)?;
    let pull_up = PullUpCorrelatedExpr::new().with_need_handle_count_bug(true);
    if domain.columns.is_empty()
        || !matches!(join.join_type, JoinType::Inner | JoinType::Left)
        || pulls_up(subquery, pull_up)?
    {
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

fn subquery_of(plan: &LogicalPlan) -> Option<&LogicalPlan> {
    match plan {
        LogicalPlan::Subquery(subquery) => Some(&subquery.subquery),
        LogicalPlan::SubqueryAlias(_) | LogicalPlan::Projection(_) => subquery_of(plan.inputs()[0]),
        _ => None,
    }
}

/// Whether DataFusion can move the conditions on outer columns out of a subquery.
pub(super) fn pulls_up(subquery: &LogicalPlan, mut pull_up: PullUpCorrelatedExpr) -> Result<bool> {
    Ok(subquery.clone().rewrite(&mut pull_up).is_ok() && pull_up.can_pull_up)
}
