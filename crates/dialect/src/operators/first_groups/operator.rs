//! The operator.

use super::choice::GroupChoice;
use super::thread_groups::ThreadFilter;
use crate::operators::plan_methods::{only_input, plan_methods};
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties, apply_expression_roots,
};
use futures::{StreamExt, TryStreamExt, future};
use std::fmt;
use std::sync::Arc;

/// Drops the rows that are not of the first groups.
#[derive(Debug)]
pub(super) struct FirstGroupsExec {
    input: Arc<dyn ExecutionPlan>,
    /// Belongs to one execution: a plan that is executed again has its children replaced before.
    choice: Arc<GroupChoice>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl FirstGroupsExec {
    pub(super) fn try_new(
        input: Arc<dyn ExecutionPlan>,
        keys: Vec<Arc<dyn PhysicalExpr>>,
        group_count: usize,
    ) -> Result<Self> {
        let choice = Arc::new(GroupChoice::new(keys, group_count, &input.schema())?);
        let properties = PlanProperties::new(
            input.equivalence_properties().clone(),
            input.output_partitioning().clone(),
            EmissionType::Incremental,
            input.boundedness(),
        );
        Ok(Self { input, choice, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() })
    }
}

impl DisplayAs for FirstGroupsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<String> = self.choice.keys.iter().map(ToString::to_string).collect();
        write!(f, "FirstGroupsExec: first {} groups of [{}]", self.choice.group_count, keys.join(", "))
    }
}

impl ExecutionPlan for FirstGroupsExec {
    plan_methods!(properties, recomputed, input, keeps_order, metrics);

    fn name(&self) -> &str {
        "FirstGroupsExec"
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(&self.choice.keys, visit)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = only_input(self.name(), children)?;
        Ok(Arc::new(Self::try_new(input, self.choice.keys.clone(), self.choice.group_count)?))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let schema = input.schema();
        let rows_dropped = MetricBuilder::new(&self.metrics).counter("rows_dropped", partition);
        let mut filter = ThreadFilter::new(&self.choice, rows_dropped);
        let batches = input.map(move |batch| filter.passing(batch?));
        let batches = batches.try_filter(|batch| future::ready(batch.num_rows() > 0));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}
