//! Scalar subqueries whose value changes each time that they are computed, such as `(SELECT random())`. DataFusion
//! takes two that are equal for one, and `a = a` for true. So the column of each gets a name of its own.

use super::domain::Names;
use super::join_conditions::is_repeatable;
use crate::workarounds::shared::expressions::rewrite_expressions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use std::sync::Arc;

/// Names the columns of these subqueries.
pub(super) fn name_volatile_values(plan: LogicalPlan, names: &Names) -> Result<LogicalPlan> {
    rewrite_expressions(plan, |expr, _| match expr {
        Expr::ScalarSubquery(subquery) if has_own_value(&subquery)? => {
            let (input, value) = match subquery.subquery.as_ref() {
                LogicalPlan::Projection(projection) => {
                    (projection.input.as_ref(), projection.expr[0].clone().unalias())
                }
                plan => (plan, Expr::Column(Column::from(plan.schema().qualified_field(0)))),
            };
            let value = value.alias(names.next("volatile"));
            let named = LogicalPlanBuilder::from(input.clone()).project(vec![value])?.build()?;
            Ok(Transformed::yes(Expr::ScalarSubquery(Subquery { subquery: Arc::new(named), ..subquery })))
        }
        other => Ok(Transformed::no(other)),
    })
}

/// Returns whether it is such a subquery. One that mentions outer columns gets no further step, over which they might
/// not be known.
fn has_own_value(subquery: &Subquery) -> Result<bool> {
    let plan = subquery.subquery.as_ref();
    let may_be_named = matches!(plan, LogicalPlan::Projection(_)) || subquery.outer_ref_columns.is_empty();
    Ok(may_be_named && plan.schema().fields().len() == 1 && !is_repeatable(plan)?)
}
