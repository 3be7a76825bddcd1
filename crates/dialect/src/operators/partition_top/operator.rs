//! The operator.

use super::part::{RankBound, ThreadFilter, first_rows};
use crate::operators::plan_methods::{only_input, plan_methods};
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties, apply_expression_roots,
};
use futures::{TryStreamExt, stream};
use std::fmt;
use std::sync::Arc;

/// Drops rows that are not among the first of their partition. Each thread drops rows of its own, so a row that passes
/// may still be superfluous.
#[derive(Debug, Clone)]
pub struct PartitionTopExec {
    input: Arc<dyn ExecutionPlan>,
    wanted: Arc<RankBound>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl PartitionTopExec {
    pub(super) fn new(input: Arc<dyn ExecutionPlan>, wanted: Arc<RankBound>) -> Self {
        let properties = PlanProperties::new(
            input.equivalence_properties().clone(),
            input.output_partitioning().clone(),
            EmissionType::Final,
            input.boundedness(),
        );
        Self { input, wanted, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() }
    }

    /// The first order key.
    pub fn first_order_key(&self) -> &PhysicalSortExpr {
        &self.wanted.order[0]
    }
}

impl DisplayAs for PartitionTopExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RankBound { partition, order, limit, keeps_ties } = self.wanted.as_ref();
        let partition: Vec<String> = partition.iter().map(ToString::to_string).collect();
        let order: Vec<String> = order.iter().map(ToString::to_string).collect();
        let ties = if *keeps_ties { " with ties" } else { "" };
        write!(f, "PartitionTopExec: first {limit}{ties} of [{}] by [{}]", partition.join(", "), order.join(", "))
    }
}

impl ExecutionPlan for PartitionTopExec {
    plan_methods!(properties, recomputed, input, keeps_order, metrics);

    fn name(&self) -> &str {
        "PartitionTopExec"
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let order = self.wanted.order.iter().map(|key| &key.expr);
        apply_expression_roots(self.wanted.partition.iter().chain(order), visit)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = only_input(self.name(), children)?;
        Ok(Arc::new(Self::new(input, Arc::clone(&self.wanted))))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let schema = input.schema();
        let reservation = MemoryConsumer::new(self.name()).with_can_spill(true).register(context.memory_pool());
        let rows_dropped = MetricBuilder::new(&self.metrics).counter("rows_dropped", partition);
        let batch_rows = context.session_config().batch_size().max(1);
        let part = ThreadFilter::new(&self.wanted, &schema, batch_rows, reservation, rows_dropped)?;
        let batches = stream::once(first_rows(part, input)).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}
