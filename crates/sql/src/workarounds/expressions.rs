//! Rewriting the expressions of a plan, for the rules that do so once types have been made equal or before.
//!
//! No workaround by itself: what several of them share.

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Rewrites every expression of a plan and of its subqueries from the inside out. The answer's columns keep their
/// names. The schema is that of the step's inputs. An expression for which `stays` holds is left as it is, with all
/// that is in it.
pub(crate) fn rewrite_expressions(
    plan: LogicalPlan,
    stays: impl Fn(&Expr) -> bool,
    rewrite: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|plan| {
        let schema = merge_schema(&plan.inputs());
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            if stays(&expr) {
                return Ok(Transformed::no(expr));
            }
            let name = names.save(&expr);
            let rewritten = expr.transform_up(|expr| rewrite(expr, &schema))?;
            Ok(rewritten.update_data(|expr| name.restore(expr)))
        })
    })
    .data()
}

/// Whether the columns of an expression are named by what is in it, so that none of it may change.
pub(crate) fn names_its_columns(expr: &Expr) -> bool {
    matches!(expr, Expr::GroupingSet(_))
}
