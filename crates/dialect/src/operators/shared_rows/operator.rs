//! The operator.

use crate::operators::plan_methods::plan_methods;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, InputDistributionRequirements, Partitioning,
    PlanProperties,
};
use futures::{TryStreamExt, stream};
use std::fmt;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// Returns the rows of its input, or those that another copy has computed before.
#[derive(Debug)]
pub(super) struct SharedRowsExec {
    input: Arc<dyn ExecutionPlan>,
    shared: Arc<SharedBatches>,
    properties: Arc<PlanProperties>,
}

/// The rows of all copies, once one of them has computed them.
#[derive(Debug, Default)]
pub(super) struct SharedBatches(OnceCell<ComputedBatches>);

#[derive(Debug)]
struct ComputedBatches {
    batches: Vec<RecordBatch>,
    /// The memory of the rows, as long as the statement holds them.
    _reservation: MemoryReservation,
}

impl SharedBatches {
    /// The rows, which `input` computes if no copy has. If that ends early, another copy computes them anew.
    async fn of(&self, input: Arc<dyn ExecutionPlan>, context: Arc<TaskContext>) -> Result<Vec<RecordBatch>> {
        let computed = self.0.get_or_try_init(|| ComputedBatches::of(input, context)).await?;
        Ok(computed.batches.clone())
    }
}

impl ComputedBatches {
    async fn of(input: Arc<dyn ExecutionPlan>, context: Arc<TaskContext>) -> Result<Self> {
        let reservation = MemoryConsumer::new("SharedRowsExec").register(context.memory_pool());
        let mut rows = input.execute(0, context)?;
        let mut batches = Vec::new();
        while let Some(batch) = rows.try_next().await? {
            reservation.try_grow(batch.get_array_memory_size())?;
            batches.push(batch);
        }
        Ok(Self { batches, _reservation: reservation })
    }
}

impl SharedRowsExec {
    pub(super) fn new(input: Arc<dyn ExecutionPlan>, shared: Arc<SharedBatches>) -> Self {
        // The rows have the order in which another copy may have computed them.
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { input, shared, properties: Arc::new(properties) }
    }
}

impl DisplayAs for SharedRowsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedRowsExec")
    }
}

impl ExecutionPlan for SharedRowsExec {
    plan_methods!(properties, no_expressions, recomputed);

    fn name(&self) -> &str {
        "SharedRowsExec"
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    /// The rows stay shared, also if the step is executed again: they do not depend on what has changed since.
    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(input) = children.pop() else { return internal_err!("SharedRowsExec has one input") };
        Ok(Arc::new(Self::new(input, Arc::clone(&self.shared))))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (input, shared) = (Arc::clone(&self.input), Arc::clone(&self.shared));
        let batches = async move {
            let batches = shared.of(input, context).await?;
            Ok::<_, DataFusionError>(stream::iter(batches.into_iter().map(Ok::<_, DataFusionError>)))
        };
        let batches = stream::once(batches).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.input.schema(), batches)))
    }
}
