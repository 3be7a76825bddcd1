//! `ORDER BY` of constants with a `LIMIT`. If there is another limit below, DataFusion drops the sort, and its limit
//! with it. So such a sort becomes a limit.
//!
//! No upstream issue known.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::logical_plan::{Limit, Sort};
use datafusion::logical_expr::{Expr, LogicalPlan, lit};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// Runs after limits have been moved into sorts.
#[derive(Debug)]
pub(crate) struct ConstantOrder;

impl OptimizerRule for ConstantOrder {
    fn name(&self) -> &str {
        "constant_order"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Sort(Sort { expr, input, fetch: Some(fetch) })
                if expr.iter().all(|by| is_constant(&by.expr, &input)) =>
            {
                let fetch = Some(Box::new(lit(fetch as i64)));
                Ok(Transformed::yes(LogicalPlan::Limit(Limit { skip: None, fetch, input })))
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

/// Returns whether an expression has the same value in all rows of a plan.
fn is_constant(expr: &Expr, plan: &LogicalPlan) -> bool {
    match (expr, plan) {
        (Expr::Literal(..), _) => true,
        (Expr::Alias(alias), _) => is_constant(&alias.expr, plan),
        (Expr::Column(column), LogicalPlan::Projection(projection)) => {
            let at = projection.schema.maybe_index_of_column(column);
            at.is_some_and(|at| is_constant(&projection.expr[at], &projection.input))
        }
        (Expr::Column(column), LogicalPlan::SubqueryAlias(alias)) => {
            let at = alias.schema.maybe_index_of_column(column);
            let inner = at.map(|at| Expr::from(alias.input.schema().qualified_field(at)));
            inner.is_some_and(|inner| is_constant(&inner, &alias.input))
        }
        _ => false,
    }
}
