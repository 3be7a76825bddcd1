//! Looking for what a plan may not contain.

use atsdb_core::{Error, Result};
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_dialect::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Returns the first refusal of a node of a plan or of one of its expressions, those of subqueries included.
pub(crate) fn check_plan(
    plan: &LogicalPlan,
    refused_node: impl Fn(&LogicalPlan) -> Option<Error>,
    refused_expr: impl Fn(&Expr) -> Option<Error>,
) -> Result<()> {
    let mut refused: Option<Error> = None;
    let seen = plan.dyn_apply_with_subqueries(|node| {
        refused = refused.take().or_else(|| refused_node(node));
        node.dyn_apply_expressions(|expr| {
            expr.dyn_apply(|expr| {
                refused = refused.take().or_else(|| refused_expr(expr));
                Ok(TreeNodeRecursion::Continue)
            })
        })
    });
    seen.map_err(from_datafusion)?;
    refused.map_or(Ok(()), Err)
}
