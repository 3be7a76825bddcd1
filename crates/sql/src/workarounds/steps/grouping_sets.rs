//! `ROLLUP`, `CUBE` and `GROUPING SETS`, which make keys NULL in some of their groups. DataFusion takes what it knows
//! of the input for true of these groups: that two keys are equal, that a key is constant, by which keys rows are
//! sorted or distributed. So `ORDER BY` drops keys, and the last step of the aggregation shows a group several times.
//!
//! The first step of such an aggregation gets a step above it that says nothing of its rows.
//!
//! [#24421](https://github.com/apache/datafusion/issues/24421) describes it for sorted input. Its fix,
//! [#24422](https://github.com/apache/datafusion/pull/24422), which is not in 55.2, does not mend the other cases.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, StatisticsArgs,
};
use std::fmt;
use std::sync::Arc;

/// Adds the rule before all others, which build on what is known of rows.
pub(crate) fn know_nothing_of_grouping_sets(optimizer: &mut PhysicalOptimizer) {
    optimizer.rules.insert(0, Arc::new(UnknownGroups));
}

/// Puts an [`UnknownGroupsExec`] above each aggregation into grouping sets.
#[derive(Debug)]
struct UnknownGroups;

impl PhysicalOptimizerRule for UnknownGroups {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| match plan.downcast_ref::<AggregateExec>() {
            Some(groups) if groups.group_expr().has_grouping_set() => {
                Ok(Transformed::yes(Arc::new(UnknownGroupsExec::new(plan)) as Arc<dyn ExecutionPlan>))
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

/// Passes rows on, without what was known of them.
#[derive(Debug)]
struct UnknownGroupsExec {
    groups: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl UnknownGroupsExec {
    fn new(groups: Arc<dyn ExecutionPlan>) -> Self {
        let known = groups.properties();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(groups.schema()),
            Partitioning::UnknownPartitioning(known.partitioning.partition_count()),
            known.emission_type,
            known.boundedness,
        );
        Self { groups, properties: Arc::new(properties) }
    }

    fn above(mut groups: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match groups.pop() {
            Some(groups) => Ok(Arc::new(Self::new(groups))),
            None => internal_err!("UnknownGroupsExec has one input"),
        }
    }
}

impl DisplayAs for UnknownGroupsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnknownGroupsExec")
    }
}

impl ExecutionPlan for UnknownGroupsExec {
    fn name(&self) -> &str {
        "UnknownGroupsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.groups]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Self::above(children)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Self::above(children)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.groups.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [of_groups] => Ok(Arc::clone(of_groups)),
            _ => internal_err!("UnknownGroupsExec has one input"),
        }
    }
}
