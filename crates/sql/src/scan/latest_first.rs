//! The order of chunks for `ORDER BY time DESC LIMIT n`: chunks that are likely to have the rows come first. The others
//! are then skipped by the filter that the sort publishes while it runs. Likewise for the latest rows of each partition
//! of a window function: the rows of earlier chunks are then dropped.

use super::operator::AtsdbScan;
use atsdb_dialect::operators::partition_top::PartitionTopExec;
use atsdb_dialect::text::plan_walk::DynWalk;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::sorts::sort::SortExec;
use std::sync::Arc;

/// Reverses the order of scans. This only affects speed, because the sort stays.
#[derive(Debug)]
pub(crate) struct LatestFirst;

impl PhysicalOptimizerRule for LatestFirst {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.dyn_transform_down(|plan| {
            let sort = plan.downcast_ref::<SortExec>().filter(|sort| sort.fetch().is_some());
            let first = match plan.downcast_ref::<PartitionTopExec>() {
                Some(top) => Some(top.first_order_key()),
                None => sort.map(|sort| sort.expr().first()),
            };
            let descending_by = first
                .filter(|first| first.options.descending)
                .and_then(|first| first.expr.downcast_ref::<Column>().map(|column| column.name().to_owned()));
            match descending_by {
                Some(column) => turned(plan, &column),
                None => Ok(Transformed::no(plan)),
            }
        })
        .data()
    }

    fn name(&self) -> &str {
        "latest_first"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Reverses the scan at the end of a plan's single line of inputs, if it reads the column as its time.
fn turned(plan: Arc<dyn ExecutionPlan>, column: &str) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<AtsdbScan>() {
        return Ok(scan.latest_first(column).map_or(Transformed::no(Arc::clone(&plan)), |scan| {
            Transformed::yes(Arc::new(scan) as Arc<dyn ExecutionPlan>)
        }));
    }
    let inputs = plan.children();
    let [input] = inputs.as_slice() else { return Ok(Transformed::no(plan)) };
    let input = turned(Arc::clone(input), column)?;
    if !input.transformed {
        return Ok(Transformed::no(plan));
    }
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
    Ok(Transformed::yes(plan.replace_children(vec![input.data], options)?))
}
