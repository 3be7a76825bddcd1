//! Makes operators that multiply rows yield to the scheduler now and then. DataFusion yields where rows are read, so a
//! cross join that has read its inputs would continue after its query was cancelled.
//!
//! Waits for [#19358](https://github.com/apache/datafusion/issues/19358).

use crate::text::plan_walk::DynWalk;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use std::sync::Arc;

const MULTIPLIERS: [&str; 6] =
    ["CrossJoinExec", "NestedLoopJoinExec", "HashJoinExec", "SortMergeJoinExec", "UnnestExec", "RecursiveQueryExec"];

/// Wraps operators that multiply rows in a [`CooperativeExec`].
#[derive(Debug)]
pub(crate) struct Stoppable;

impl PhysicalOptimizerRule for Stoppable {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.dyn_transform_up(|plan| match MULTIPLIERS.contains(&plan.name()) {
            true => Ok(Transformed::yes(Arc::new(CooperativeExec::new(plan)) as Arc<dyn ExecutionPlan>)),
            false => Ok(Transformed::no(plan)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "stoppable"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
