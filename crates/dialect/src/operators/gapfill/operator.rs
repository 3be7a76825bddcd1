//! The operator that fills gaps: its requirements for the input, and the properties of its output.

use super::filler::Filler;
use super::parameters::GapFillParameters;
use crate::operators::plan_methods::{only_input, plan_methods};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    EquivalenceProperties, LexOrdering, OrderingRequirements, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::execution_plan::{EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
    apply_expression_roots,
};
use futures::stream;
use std::fmt;
use std::sync::Arc;

/// The operator.
#[derive(Debug)]
pub(crate) struct GapFillExec {
    input: Arc<dyn ExecutionPlan>,
    parameters: Arc<GapFillParameters>,
    schema: SchemaRef,
    ordering: LexOrdering,
    properties: Arc<PlanProperties>,
}

impl GapFillExec {
    pub(crate) fn try_new(
        input: Arc<dyn ExecutionPlan>,
        parameters: Arc<GapFillParameters>,
        schema: SchemaRef,
    ) -> Result<Self> {
        let columns = parameters.series().chain([parameters.bucket_at]);
        let options = SortOptions { descending: false, nulls_first: false };
        let sorted = columns.map(|at| {
            PhysicalSortExpr::new(Arc::new(Column::new(schema.field(at).name(), at)) as Arc<dyn PhysicalExpr>, options)
        });
        let Some(ordering) = LexOrdering::new(sorted) else { return internal_err!("no bucket to sort by") };
        let properties = PlanProperties::new(
            EquivalenceProperties::new_with_orderings(Arc::clone(&schema), [ordering.clone()]),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            input.boundedness(),
        );
        Ok(Self { input, parameters, schema, ordering, properties: Arc::new(properties) })
    }
}

impl DisplayAs for GapFillExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GapFillParameters { width, bounds, fills, .. } = self.parameters.as_ref();
        write!(f, "GapFillExec: width={width}")?;
        let bounds: Vec<String> = bounds.iter().map(|(bound, value)| format!("{} {value}", bound.operator)).collect();
        write!(f, ", bounds=[{}], fills={}", bounds.join(", "), fills.len())
    }
}

impl ExecutionPlan for GapFillExec {
    plan_methods!(properties, recomputed, input, single_partition);

    fn name(&self) -> &str {
        "GapFillExec"
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![Some(OrderingRequirements::from(self.ordering.clone()))]
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(self.parameters.fills.iter().map(|fill| &fill.value), visit)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = only_input(self.name(), children)?;
        Ok(Arc::new(Self::try_new(input, Arc::clone(&self.parameters), Arc::clone(&self.schema))?))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let batch_rows = context.session_config().batch_size().max(1);
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let reservation = MemoryConsumer::new("GapFillExec").register(context.memory_pool());
        let filler =
            Filler::new(Arc::clone(&self.parameters), Arc::clone(&self.schema), input, batch_rows, reservation)?;
        let batches =
            stream::try_unfold(
                filler,
                |mut filler| async move { Ok(filler.next().await?.map(|batch| (batch, filler))) },
            );
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches)))
    }
}
