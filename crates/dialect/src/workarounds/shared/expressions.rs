//! Rewrites the expressions of a plan. Shared by the rules that run before types are made equal or right after.

use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Rewrites every expression of a plan and of its subqueries from the inside out. The result's columns keep their
/// names. The schema is that of the step's inputs.
pub(crate) fn rewrite_expressions(
    plan: LogicalPlan,
    rewrite: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    plan.dyn_transform_up_with_subqueries(|plan| {
        let schema = merge_schema(&plan.inputs());
        let names = NamePreserver::new(&plan);
        plan.dyn_map_expressions(|expr| {
            let name = names.save(&expr);
            let rewritten = expr.dyn_transform_up(|expr| rewrite(expr, &schema))?;
            Ok(rewritten.update_data(|expr| name.restore(expr)))
        })
    })
    .data()
}
