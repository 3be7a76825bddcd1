//! The operator.

use crate::operators::plan_methods::{only_input, plan_methods};
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::{TryStreamExt, stream};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use tokio::sync::OnceCell;

/// Returns the rows of its input, or those that another copy has computed before.
#[derive(Debug, Clone)]
pub(super) struct SharedRowsExec {
    input: Arc<dyn ExecutionPlan>,
    shared: Arc<SharedBatches>,
    /// The round of `WITH RECURSIVE` for which the step is executed, from 1; 0 outside of it.
    round: usize,
    /// The number of rounds that have begun for this copy, if each of them computes the rows anew. All copies in a
    /// recursive term count alike.
    rounds: Option<Arc<AtomicUsize>>,
    /// The schema of the input, with the names of the logical plan.
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

/// The rows of all copies.
#[derive(Debug, Default)]
pub(super) struct SharedBatches(Mutex<BatchesByRound>);

#[derive(Debug, Default)]
struct BatchesByRound {
    /// The rows by their round, once a copy has computed them.
    batches: HashMap<usize, Arc<OnceCell<ComputedBatches>>>,
    /// The numbers of rounds that have begun for the copies that compute the rows in each round.
    begun: Vec<Weak<AtomicUsize>>,
}

#[derive(Debug)]
struct ComputedBatches {
    batches: Vec<RecordBatch>,
    /// The memory of the rows, as long as the statement holds them.
    _reservation: MemoryReservation,
}

impl SharedBatches {
    /// The number of rounds that have begun for a new copy.
    fn count_rounds(&self) -> Arc<AtomicUsize> {
        let rounds = Arc::new(AtomicUsize::new(0));
        self.0.lock().begun.push(Arc::downgrade(&rounds));
        rounds
    }

    /// Begins the next round of a copy and returns its number. A copy reads its current round and later ones: the rows
    /// of rounds that all copies have left are released. Those of round 0 are for copies outside of recursive terms.
    fn begin_round(&self, rounds: &AtomicUsize) -> usize {
        let mut shared = self.0.lock();
        let round = rounds.fetch_add(1, Ordering::Relaxed) + 1;
        let BatchesByRound { batches, begun } = &mut *shared;
        let is_read =
            |round: usize| begun.iter().filter_map(Weak::upgrade).any(|copy| copy.load(Ordering::Relaxed) <= round);
        batches.retain(|round, _| *round == 0 || is_read(*round));
        round
    }

    /// The rows of a round, which are computed once.
    fn of_round(&self, round: usize) -> Arc<OnceCell<ComputedBatches>> {
        Arc::clone(self.0.lock().batches.entry(round).or_default())
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
    /// Shares the rows of an input whose columns have names in the logical plan. If they are by round, each round of
    /// `WITH RECURSIVE` computes them anew.
    pub(super) fn named(
        input: Arc<dyn ExecutionPlan>,
        shared: Arc<SharedBatches>,
        is_by_round: bool,
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
        let rounds = is_by_round.then(|| shared.count_rounds());
        Self { input, shared, round: 0, rounds, schema, properties: Arc::new(properties) }
    }
}

impl DisplayAs for SharedRowsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedRowsExec")
    }
}

impl ExecutionPlan for SharedRowsExec {
    plan_methods!(properties, no_expressions, recomputed, input, single_partition);

    fn name(&self) -> &str {
        "SharedRowsExec"
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = only_input(self.name(), children)?;
        Ok(Arc::new(Self { input, ..Arc::unwrap_or_clone(self) }))
    }

    /// Begins a round. Rows that are not volatile stay shared: they do not depend on what has changed since.
    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(rounds) = &self.rounds else { return Ok(self) };
        let round = self.shared.begin_round(rounds);
        Ok(Arc::new(Self { round, ..Arc::unwrap_or_clone(self) }))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (input, schema, of_round) =
            (Arc::clone(&self.input), Arc::clone(&self.schema), self.shared.of_round(self.round));
        let batches = async move {
            // If a copy ends early, another one computes the rows anew.
            let computed = of_round.get_or_try_init(|| ComputedBatches::of(input, context)).await?;
            let batches = computed.batches.clone();
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

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{ArrayRef, Int64Array};
    use datafusion::catalog::memory::MemorySourceConfig;
    use futures::executor::block_on;

    const ROUNDS: usize = 5;

    fn batch() -> RecordBatch {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![1; 1_000]));
        RecordBatch::try_from_iter([("n", values)]).unwrap()
    }

    /// A copy in a recursive term.
    fn copy(shared: &Arc<SharedBatches>) -> Arc<dyn ExecutionPlan> {
        let batch = batch();
        let input = MemorySourceConfig::try_new_exec(&[vec![batch.clone()]], batch.schema(), None).unwrap();
        Arc::new(SharedRowsExec::named(input, Arc::clone(shared), true, &batch.schema()))
    }

    /// The number of rows of a copy in its next round.
    fn next_round(copy: &Arc<dyn ExecutionPlan>, context: &Arc<TaskContext>) -> usize {
        let of_round = Arc::clone(copy).reset_state().unwrap();
        let rows = of_round.execute(0, Arc::clone(context)).unwrap();
        let batches: Vec<RecordBatch> = block_on(rows.try_collect()).unwrap();
        batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn rounds_in_memory(context: &TaskContext) -> usize {
        context.memory_pool().reserved() / batch().get_array_memory_size()
    }

    #[test]
    fn a_round_that_all_copies_have_left_takes_no_memory() {
        let (shared, context) = (Arc::default(), Arc::new(TaskContext::default()));
        let copies = [copy(&shared), copy(&shared)];
        for _ in 0..ROUNDS {
            assert_eq!(copies.each_ref().map(|copy| next_round(copy, &context)), [1_000, 1_000]);
            assert_eq!(rounds_in_memory(&context), 1);
        }
        drop((shared, copies));
        assert_eq!(context.memory_pool().reserved(), 0);
    }

    #[test]
    fn rounds_that_a_copy_has_still_to_read_stay_in_memory() {
        let (shared, context) = (Arc::default(), Arc::new(TaskContext::default()));
        let (first, second) = (copy(&shared), copy(&shared));
        for round in 1..=ROUNDS {
            next_round(&first, &context);
            assert_eq!(rounds_in_memory(&context), round);
        }
        for round in 1..=ROUNDS {
            next_round(&second, &context);
            assert_eq!(rounds_in_memory(&context), ROUNDS + 1 - round);
        }
    }

    #[test]
    fn a_copy_that_is_no_longer_planned_keeps_no_rounds() {
        let (shared, context) = (Arc::default(), Arc::new(TaskContext::default()));
        let (first, second) = (copy(&shared), copy(&shared));
        drop(second);
        for _ in 0..ROUNDS {
            next_round(&first, &context);
            assert_eq!(rounds_in_memory(&context), 1);
        }
    }
}
