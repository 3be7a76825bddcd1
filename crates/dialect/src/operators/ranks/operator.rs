//! The operator.

use super::counter::{Counter, RankFunction};
use crate::operators::plan_methods::plan_methods;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{OrderingRequirements, PhysicalExpr};
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
};
use futures::StreamExt;
use std::fmt;
use std::sync::Arc;

/// Appends ranks to rows that come in order.
#[derive(Debug, Clone)]
pub(super) struct RankExec {
    /// DataFusion's operator, which has the same input, needs and properties.
    window: Arc<dyn ExecutionPlan>,
    ranks: Vec<RankFunction>,
    partition: Vec<Arc<dyn PhysicalExpr>>,
    order: Vec<Arc<dyn PhysicalExpr>>,
    metrics: ExecutionPlanMetricsSet,
}

impl RankExec {
    pub(super) fn new(
        window: Arc<dyn ExecutionPlan>,
        ranks: Vec<RankFunction>,
        partition: Vec<Arc<dyn PhysicalExpr>>,
        order: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Self {
        Self { window, ranks, partition, order, metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DisplayAs for RankExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts =
            |exprs: &[Arc<dyn PhysicalExpr>]| exprs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let (ranks, partition, order) = (&self.ranks, texts(&self.partition), texts(&self.order));
        write!(f, "RankExec: {ranks:?} in [{partition}] by [{order}]")
    }
}

impl ExecutionPlan for RankExec {
    plan_methods!(recomputed, metrics);

    fn name(&self) -> &str {
        "RankExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.window.properties()
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        self.window.required_input_ordering()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.window.input_distribution_requirements()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.window.maintains_input_order()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.window.children()
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.window.apply_expressions(visit)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let window = Arc::clone(&self.window).replace_children(children, options)?;
        Ok(Arc::new(Self { window, metrics: ExecutionPlanMetricsSet::new(), ..Self::clone(&self) }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.children()[0].execute(partition, context)?;
        let (ranks, keys, order) = (self.ranks.clone(), self.partition.clone(), self.order.clone());
        let mut counter = Counter::new(ranks, self.schema(), keys, order);
        let output_rows = MetricBuilder::new(&self.metrics).output_rows(partition);
        let batches = input.map(move |batch| {
            let ranked = counter.with_ranks(&batch?)?;
            output_rows.add(ranked.num_rows());
            Ok(ranked)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }
}
