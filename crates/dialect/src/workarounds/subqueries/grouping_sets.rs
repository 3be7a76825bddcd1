//! `GROUPING SETS`, `ROLLUP` and `CUBE` in a subquery that mentions outer columns. An empty set has a row for each
//! outer row, even if no row of the subquery belongs to it. DataFusion adds the outer columns to each set, and loses
//! that row.
//!
//! No upstream issue known.

use super::outer_columns::outer_columns;
use crate::text::datafusion_errors::external;
use crate::text::errors::not_supported;
use crate::text::plan_walk::DynPlanWalk;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Refuses a plan with such a subquery.
pub(super) fn refuse_grouping_sets(plan: &LogicalPlan) -> Result<()> {
    plan.dyn_apply_with_subqueries(|plan| {
        let LogicalPlan::Aggregate(aggregate) = plan else { return Ok(TreeNodeRecursion::Continue) };
        let has_sets = aggregate.group_expr.iter().any(|group| matches!(group, Expr::GroupingSet(_)));
        if !has_sets || outer_columns(plan)?.is_empty() {
            return Ok(TreeNodeRecursion::Continue);
        }
        let what = "GROUPING SETS, ROLLUP or CUBE in a subquery with columns of the query around it";
        let hint = "join the tables in a subquery of FROM, with the columns of the query around it in each set";
        Err(external(not_supported(what).with_hint(hint)))
    })?;
    Ok(())
}
