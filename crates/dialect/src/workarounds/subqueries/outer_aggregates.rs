//! Aggregates in a subquery over columns of the outer query alone, as in `(SELECT sum(o.x) FROM i)`. By the standard,
//! and in PostgreSQL, such an aggregate is one of the outer query, which it makes a query over groups. DataFusion
//! computes it over the rows of the subquery. It is refused, unless it was moved to the outer query in the syntax tree.
//!
//! No upstream issue known.

use super::outer_columns::expression_subquery;
use crate::text::datafusion_errors::external;
use crate::text::errors::not_supported;
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// The aggregate that `ARRAY(SELECT ...)` is planned as, which belongs to its own query.
const COLLECTING: &str = "array_agg";

/// Refuses a plan with such an aggregate.
pub(super) fn refuse_outer_aggregates(plan: &LogicalPlan) -> Result<()> {
    plan.dyn_apply_with_subqueries(|plan| {
        let LogicalPlan::Aggregate(aggregate) = plan else { return Ok(TreeNodeRecursion::Continue) };
        for expr in &aggregate.aggr_expr {
            expr.dyn_apply(|expr| match expr {
                Expr::AggregateFunction(call) if is_of_outer_query(call)? => {
                    let what = format!("{} in a subquery over columns of the outer query alone", call.func.name());
                    let hint = "it is an aggregate of the outer query: write it there";
                    Err(external(not_supported(what).with_hint(hint)))
                }
                _ => Ok(TreeNodeRecursion::Continue),
            })?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// Returns whether the arguments of an aggregate mention columns of an outer query, but none of its own query.
fn is_of_outer_query(call: &AggregateFunction) -> Result<bool> {
    if call.func.name() == COLLECTING {
        return Ok(false);
    }
    let is_outer = |expr: &Expr| Ok(matches!(expr, Expr::OuterReferenceColumn(..)));
    let is_own = |expr: &Expr| Ok(matches!(expr, Expr::Column(_)) || expression_subquery(expr).is_some());
    let any = |exprs: &[&Expr], found: &dyn Fn(&Expr) -> Result<bool>| -> Result<bool> {
        exprs.iter().try_fold(false, |is_found, expr| Ok(is_found || expr.dyn_exists(found)?))
    };
    let arguments: Vec<&Expr> = call.params.args.iter().collect();
    let others = call.params.filter.as_deref().into_iter().chain(call.params.order_by.iter().map(|by| &by.expr));
    let all: Vec<&Expr> = arguments.iter().copied().chain(others).collect();
    Ok(any(&arguments, &is_outer)? && !any(&all, &is_own)?)
}
