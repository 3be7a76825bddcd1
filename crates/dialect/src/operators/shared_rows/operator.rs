//! The operator.

use crate::operators::plan_methods::plan_methods;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
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
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::OnceCell;

/// Returns the rows of its input, or those that another copy has computed before.
#[derive(Debug, Clone)]
pub(super) struct SharedRowsExec {
    input: Arc<dyn ExecutionPlan>,
    shared: Arc<SharedBatches>,
    /// The round of `WITH RECURSIVE` for which the step is executed, from 1; 0 outside of it.
    round: usize,
    /// The number of rounds that have begun, if each of them computes the rows anew. All copies in a recursive term
    /// count alike.
    rounds: Option<Arc<AtomicUsize>>,
    /// The schema of the input, with the names of the logical plan.
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

/// The rows of all copies by their round, once one of them has computed them.
#[derive(Debug, Default)]
pub(super) struct SharedBatches(Mutex<HashMap<usize, Arc<OnceCell<ComputedBatches>>>>);

#[derive(Debug)]
struct ComputedBatches {
    batches: Vec<RecordBatch>,
    /// The memory of the rows, as long as the statement holds them.
    _reservation: MemoryReservation,
}

impl SharedBatches {
    /// The rows of a round, which `input` computes if no copy has. If that ends early, another copy computes them anew.
    async fn of(
        &self,
        round: usize,
        input: Arc<dyn ExecutionPlan>,
        context: Arc<TaskContext>,
    ) -> Result<Vec<RecordBatch>> {
        let of_round = Arc::clone(self.0.lock().entry(round).or_default());
        let computed = of_round.get_or_try_init(|| ComputedBatches::of(input, context)).await?;
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
    /// Shares the rows of an input whose columns have names in the logical plan. If it is volatile, each round of
    /// `WITH RECURSIVE` computes them anew.
    pub(super) fn named(
        input: Arc<dyn ExecutionPlan>,
        shared: Arc<SharedBatches>,
        is_volatile: bool,
        logical: &Schema,
    ) -> Self {
        let of_input = input.schema();
        let named = of_input.fields().iter().zip(logical.fields());
        let fields: Vec<Field> = named.map(|(field, named)| field.as_ref().clone().with_name(named.name())).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, of_input.metadata().clone()));
        // The rows have the order in which another copy may have computed them.
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        let rounds = is_volatile.then(|| Arc::new(AtomicUsize::new(0)));
        Self { input, shared, round: 0, rounds, schema, properties: Arc::new(properties) }
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

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(input) = children.pop() else { return internal_err!("SharedRowsExec has one input") };
        Ok(Arc::new(Self { input, ..Arc::unwrap_or_clone(self) }))
    }

    /// Begins a round. Rows that are not volatile stay shared: they do not depend on what has changed since.
    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(rounds) = self.rounds.clone() else { return Ok(self) };
        let round = rounds.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Arc::new(Self { round, ..Arc::unwrap_or_clone(self) }))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (input, shared, schema) = (Arc::clone(&self.input), Arc::clone(&self.shared), Arc::clone(&self.schema));
        let round = self.round;
        let batches = async move {
            let batches = shared.of(round, input, context).await?;
            Ok::<_, DataFusionError>(stream::iter(batches.into_iter().map(move |batch| renamed(&batch, &schema))))
        };
        let batches = stream::once(batches).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches)))
    }
}

/// The same rows with the names of a schema.
fn renamed(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), batch.columns().to_vec(), &options)?)
}
