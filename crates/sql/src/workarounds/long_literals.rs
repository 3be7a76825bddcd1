//! Long constants of a plan: a constant is copied for every row of a batch, so that with long ones batches are made
//! smaller. `unnest(range(1, 10000000))` would otherwise ask for 8,192 times its 80 MB at once, which no memory limit
//! sees coming and no allocator gives.
//!
//! DataFusion 55 copies them and accounts for none of the copies. No upstream issue known.

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};

/// The most memory that the copies of one constant may take is the memory over this.
const SHARE: usize = 8;

/// How many rows a batch may have.
pub(crate) fn batch_rows(plan: &LogicalPlan, memory_bytes: usize, most: usize) -> Result<usize> {
    let mut longest = 1;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::Literal(value, _) = expr {
                    longest = longest.max(value.size());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok((memory_bytes / SHARE / longest).clamp(1, most))
}
