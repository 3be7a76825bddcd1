//! Long constants of a plan. A constant is copied for every row of a batch, so plans with long constants use smaller
//! batches. Otherwise `unnest(range(1, 10000000))` would ask for 8,192 times its 80 MB at once, which no memory limit
//! notices in advance and no allocator grants.
//!
//! DataFusion 55.2 copies them and does not account for the copies. No upstream issue known.

use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Divides the memory limit into the most memory that the copies of one constant may take.
const SHARE: usize = 8;

/// The number of rows that a batch may have.
pub fn batch_rows(plan: &LogicalPlan, memory_bytes: usize, most: usize) -> Result<usize> {
    let mut longest = 1;
    plan.dyn_apply_with_subqueries(|node| {
        node.dyn_apply_expressions(|expr| {
            expr.dyn_apply(|expr| {
                if let Expr::Literal(value, _) = expr {
                    longest = longest.max(value.size());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok((memory_bytes / SHARE / longest).clamp(1, most))
}
