//! Gives the condition of a filter to the scan below it, so that it reads the columns of the condition first, and the
//! others only where rows match.

use super::operator::AtsdbScan;
use atsdb_dialect::text::plan_walk::DynWalk;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter::FilterExec;
use std::sync::Arc;

/// Adds the rule where no later rule moves filters or columns. It only affects speed, because the filter stays.
pub(crate) fn filter_first(optimizer: &mut PhysicalOptimizer) {
    if let Some(at) = optimizer.rules.iter().position(|rule| rule.name() == "EnsureCooperative") {
        optimizer.rules.insert(at, Arc::new(FilterFirst));
    }
}

#[derive(Debug)]
struct FilterFirst;

impl PhysicalOptimizerRule for FilterFirst {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.dyn_transform_up(|plan| match filtered(&plan)? {
            Some(scan) => {
                let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
                Ok(Transformed::yes(plan.replace_children(vec![scan], options)?))
            }
            None => Ok(Transformed::no(plan)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "filter_first"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The scan below a filter, with its condition.
fn filtered(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(filter) = plan.downcast_ref::<FilterExec>() else { return Ok(None) };
    let Some(scan) = filter.input().downcast_ref::<AtsdbScan>() else { return Ok(None) };
    Ok(scan.filtered(filter.predicate())?.map(|scan| Arc::new(scan) as Arc<dyn ExecutionPlan>))
}
