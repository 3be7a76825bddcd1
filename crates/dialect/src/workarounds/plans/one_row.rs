//! An aggregate without groups has one row, whatever its input. DataFusion moves a condition that turns out to be
//! constant below the aggregate. There it removes the input instead of the row, and the row stays. A limit of one row
//! over the aggregate, which changes nothing else, keeps conditions from being moved.
//!
//! No upstream issue known.

use crate::text::plan_walk::DynPlanWalk;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::logical_expr::logical_plan::{Filter, Limit};
use datafusion::logical_expr::{LogicalPlan, lit};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Runs before conditions are moved.
#[derive(Debug)]
pub(crate) struct OneRow;

impl AnalyzerRule for OneRow {
    fn name(&self) -> &str {
        "one_row"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.dyn_transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Filter(Filter { predicate, input, .. }) if has_one_row(&input) => {
                let input = limited(input.as_ref().clone())?;
                Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input))?)))
            }
            other => Ok(Transformed::no(other)),
        })
        .data()
    }
}

fn has_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) => has_one_row(plan.inputs()[0]),
        _ => false,
    }
}

/// Puts a limit of one row over the plan's aggregate.
fn limited(plan: LogicalPlan) -> Result<LogicalPlan> {
    if matches!(plan, LogicalPlan::Aggregate(_)) {
        let fetch = Some(Box::new(lit(1_i64)));
        return Ok(LogicalPlan::Limit(Limit { skip: None, fetch, input: Arc::new(plan) }));
    }
    let input = limited(plan.inputs()[0].clone())?;
    plan.with_new_exprs(plan.expressions(), vec![input])
}
