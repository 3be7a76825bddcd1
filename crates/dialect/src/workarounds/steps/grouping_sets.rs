//! `ROLLUP`, `CUBE` and `GROUPING SETS`, which make keys NULL in some of their groups. DataFusion takes what it knows
//! of the input for true of these groups: that two keys are equal, that a key is constant, by which keys rows are
//! sorted or distributed. So `ORDER BY` drops keys, and the last step of the aggregation shows a group several times.
//!
//! The first step of such an aggregation gets a [step](super::unknown_rows) above it that says nothing of its rows.
//!
//! [#24421](https://github.com/apache/datafusion/issues/24421) describes it for sorted input. Its fix,
//! [#24422](https://github.com/apache/datafusion/pull/24422), which is not in 55.2, does not mend the other cases.

use super::unknown_rows::{HiddenProperties, UnknownRowsExec};
use crate::text::plan_walk::DynWalk;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use std::sync::Arc;

/// Adds the rule before all others, which build on what is known of rows.
pub(crate) fn know_nothing_of_grouping_sets(optimizer: &mut PhysicalOptimizer) {
    optimizer.rules.insert(0, Arc::new(UnknownGroups));
}

/// Puts an [`UnknownRowsExec`] above each aggregation into grouping sets.
#[derive(Debug)]
struct UnknownGroups;

impl PhysicalOptimizerRule for UnknownGroups {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.dyn_transform_up(|plan| match plan.downcast_ref::<AggregateExec>() {
            Some(groups) if groups.group_expr().has_grouping_set() => {
                UnknownRowsExec::above(plan, HiddenProperties::Everything).map(Transformed::yes)
            }
            _ => Ok(Transformed::no(plan)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "unknown_groups"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
