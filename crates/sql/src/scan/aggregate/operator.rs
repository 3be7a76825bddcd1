//! The operator. Each thread reads its own chunks and groups their rows; then the groups are merged. If there are many,
//! each thread merges some partitions of them.

use super::call::Call;
use crate::scan::operator::AtsdbScan;
use atsdb_core::{Error, ErrorKind};
use atsdb_dialect::operators::plan_methods::{only_input, plan_methods};
use atsdb_dialect::text::datafusion_errors::external;
use atsdb_engine::{GroupKey, GroupPartition, Groups, Measure, Scan};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::{SortOptions, concat_batches, sort_to_indices};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::{DataFusionError, Result, Statistics, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions, SchedulingType};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::{StreamExt, TryStreamExt, stream};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use tokio::task::JoinSet;

/// The number of groups that are compared at a time if a sort needs only some of them.
const SORTED_ROWS: usize = 1 << 16;

/// Aggregates the chunks of a scan.
#[derive(Debug, Clone)]
pub(crate) struct AggregateExec {
    /// DataFusion's plan of the same aggregate. It runs if the groups do not fit into memory, because it can write them
    /// to disk.
    spilling: Arc<dyn ExecutionPlan>,
    scan: AtsdbScan,
    aggregation: Aggregation,
    first: Option<FirstGroups>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// The groups that a sort above the operator needs. Others may be returned as well.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstGroups {
    /// The only column by which groups are sorted.
    pub(super) column: usize,
    pub(super) options: SortOptions,
    pub(super) count: usize,
}

impl AggregateExec {
    pub(super) fn new(spilling: Arc<dyn ExecutionPlan>, scan: &AtsdbScan, aggregation: Aggregation) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(spilling.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        Self {
            spilling,
            scan: scan.clone(),
            aggregation,
            first: None,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The same operator, below a sort that needs only some groups.
    pub(super) fn with_first(&self, first: FirstGroups) -> Self {
        Self { first: Some(first), ..self.clone() }
    }

    /// The scan, and what it aggregates.
    pub(crate) fn parts(&self) -> (&AtsdbScan, &Aggregation) {
        (&self.scan, &self.aggregation)
    }

    /// The groups of all chunks, in one part or more, and the memory that is reserved for them. If they do not fit the
    /// memory, the error is [`DataFusionError::ResourcesExhausted`], and all memory has been given back.
    async fn aggregate(&self, context: &TaskContext) -> Result<(Vec<Groups>, Arc<MemoryReservation>)> {
        let scan = self.scan.scan();
        let threads = context.session_config().target_partitions().min(scan.chunks().len()).max(1);
        let none = self.aggregation.no_groups(&scan)?;
        let mut tasks = JoinSet::new();
        for first in 0..threads {
            let part = AggregateThread {
                scan: Arc::clone(&scan),
                groups: none.clone(),
                reservation: self.reservation(context),
                chunks_read: MetricBuilder::new(&self.metrics).counter("chunks_read", first),
            };
            tasks.spawn(part.read(first, threads));
        }
        let mut parts = results_of(tasks).await?;
        // In order, so that sums of floating-point numbers are the same each time.
        parts.sort_by_key(|(first, _, _)| *first);
        let parts: Vec<_> = parts.into_iter().map(|(_, groups, reservation)| (groups, reservation)).collect();
        let (mut merged, reservation) = if parts.iter().any(|(groups, _)| groups.has_set_aside()) {
            self.merge_partitions(&none, parts, context).await?
        } else {
            let (groups, reservation) = merge(parts).await?;
            (vec![groups], Arc::new(reservation))
        };
        merged.iter_mut().try_for_each(|groups| self.aggregation.finish(groups))?;
        Ok((merged, reservation))
    }

    /// Merges the groups of the threads that read. Each of as many threads merges some partitions.
    async fn merge_partitions(
        &self,
        none: &Groups,
        parts: Vec<(Groups, MemoryReservation)>,
        context: &TaskContext,
    ) -> Result<(Vec<Groups>, Arc<MemoryReservation>)> {
        let threads = parts.len();
        let (parts, reserved): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let partitions = Groups::partitions(parts);
        // One reservation now counts all groups.
        drop(reserved);
        let reservation = Arc::new(self.reservation(context));
        reservation.try_resize(partitions.iter().map(GroupPartition::memory_bytes).sum())?;
        let mut shares = vec![Vec::new(); threads];
        for (number, partition) in partitions.into_iter().enumerate() {
            shares[number % threads].push((number, partition));
        }
        let mut tasks = JoinSet::new();
        for share in shares {
            tasks.spawn(merge_share(share, none.clone(), Arc::clone(&reservation)));
        }
        let mut merged: Vec<(usize, Groups)> = results_of(tasks).await?.into_iter().flatten().collect();
        merged.sort_by_key(|(number, _)| *number);
        Ok((merged.into_iter().map(|(_, groups)| groups).collect(), reservation))
    }

    fn reservation(&self, context: &TaskContext) -> MemoryReservation {
        // The pool limits an operator that can spill to its share.
        MemoryConsumer::new(self.name()).with_can_spill(true).register(context.memory_pool())
    }

    async fn run(self, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = Arc::clone(&self.aggregation.schema);
        let (parts, reservation) = match self.aggregate(&context).await {
            Ok(aggregated) => aggregated,
            Err(DataFusionError::ResourcesExhausted(_)) => return self.spilling.execute(0, context),
            Err(error) => return Err(error),
        };
        let first = self.first;
        let batch_rows = if first.is_some() { SORTED_ROWS } else { context.session_config().batch_size().max(1) };
        let output_rows = MetricBuilder::new(&self.metrics).output_rows(0);
        let aggregation = Arc::new(self.aggregation);
        let batches = parts.into_iter().flat_map(move |groups| {
            let _reserved = &reservation;
            let (aggregation, output_rows) = (Arc::clone(&aggregation), output_rows.clone());
            let group_count = groups.len();
            (0..group_count).step_by(batch_rows).map(move |start| {
                let rows = start..(start + batch_rows).min(group_count);
                let results = match first {
                    Some(first) => aggregation.first_results(&groups, rows, first),
                    None => aggregation.results(&groups, rows),
                };
                results.inspect(|results| output_rows.add(results.num_rows()))
            })
        });
        Ok(Box::pin(cooperative(RecordBatchStreamAdapter::new(schema, stream::iter(batches)))))
    }
}

/// Waits for tasks. If one of them fails, the others are stopped.
async fn results_of<T: 'static>(mut tasks: JoinSet<Result<T>>) -> Result<Vec<T>> {
    let mut results = Vec::with_capacity(tasks.len());
    while let Some(result) = tasks.join_next().await {
        match result {
            Ok(Ok(result)) => results.push(result),
            Ok(Err(error)) => {
                tasks.shutdown().await;
                return Err(error);
            }
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(error) => return Err(DataFusionError::ExecutionJoin(Box::new(error))),
        }
    }
    Ok(results)
}

/// Merges the groups of the threads that read.
async fn merge(parts: Vec<(Groups, MemoryReservation)>) -> Result<(Groups, MemoryReservation)> {
    let mut parts = parts.into_iter();
    let Some((mut all, reservation)) = parts.next() else { return internal_err!("an aggregate without parts") };
    for (groups, reserved) in parts {
        // One reservation now counts both, and its share of the pool grows by what the other gives back.
        drop(reserved);
        reservation.try_resize(all.memory_bytes() + groups.memory_bytes())?;
        all.merge(&groups).map_err(from_engine)?;
        drop(groups);
        reservation.try_resize(all.memory_bytes())?;
        tokio::task::yield_now().await;
    }
    Ok((all, reservation))
}

/// Merges some partitions, and returns the groups of each with its number. `reservation` counts the partitions already.
async fn merge_share(
    share: Vec<(usize, GroupPartition)>,
    none: Groups,
    reservation: Arc<MemoryReservation>,
) -> Result<Vec<(usize, Groups)>> {
    let mut merged = Vec::with_capacity(share.len());
    for (number, partition) in share {
        let partition_bytes = partition.memory_bytes();
        let mut groups = none.clone();
        groups.merge_partition(partition).map_err(from_engine)?;
        groups.close();
        reservation.try_grow(groups.memory_bytes())?;
        reservation.shrink(partition_bytes);
        merged.push((number, groups));
        // A stopped query ends here.
        tokio::task::yield_now().await;
    }
    Ok(merged)
}

/// The keys and the functions of an aggregate over a scan.
#[derive(Debug, Clone)]
pub(crate) struct Aggregation {
    pub(super) keys: Vec<GroupKey>,
    /// The expressions that the keys are, over the scan.
    pub(super) key_exprs: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) measures: Vec<Measure>,
    pub(super) calls: Vec<Call>,
    /// The keys, then the results of the calls.
    pub(super) schema: SchemaRef,
}

impl PartialEq for Aggregation {
    /// The keys are compared by their expressions, because the buckets of a key are a closure.
    fn eq(&self, other: &Self) -> bool {
        (&self.key_exprs, &self.measures, &self.calls, &self.schema)
            == (&other.key_exprs, &other.measures, &other.calls, &other.schema)
    }
}

impl Aggregation {
    /// Returns whether the results for the rows of a scan are those of the functions. This depends on the bounds of
    /// columns.
    pub(crate) fn is_valid_for(&self, scan: &Scan) -> bool {
        self.calls.iter().all(|call| call.is_valid_for(scan, self.measures[call.measure].column))
    }

    /// No groups yet, for the rows of a scan.
    pub(crate) fn no_groups(&self, scan: &Scan) -> Result<Groups> {
        match scan.groups(&self.keys, &self.measures) {
            Some(groups) => Ok(groups),
            None => internal_err!("keys or measures of types that are not grouped"),
        }
    }

    /// Completes the groups once all rows are in them.
    pub(crate) fn finish(&self, groups: &mut Groups) -> Result<()> {
        if self.keys.is_empty() {
            groups.ensure_one().map_err(from_engine)?;
        }
        // Checked before the first row, because a result that does not fit is an error of the whole query.
        self.calls.iter().try_for_each(|call| call.check(groups.measured(call.measure, 0..groups.len())))
    }

    /// The keys and results of some of the groups.
    pub(crate) fn results(&self, groups: &Groups, rows: Range<usize>) -> Result<RecordBatch> {
        let mut columns = groups.keys(rows.clone()).map_err(from_engine)?;
        for call in &self.calls {
            columns.push(call.results(groups.measured(call.measure, rows.clone()))?);
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }

    /// The keys and results of those of some groups that a sort needs.
    fn first_results(&self, groups: &Groups, rows: Range<usize>, first: FirstGroups) -> Result<RecordBatch> {
        if rows.len() <= first.count {
            return self.results(groups, rows);
        }
        let values = match first.column.checked_sub(self.keys.len()).and_then(|call| self.calls.get(call)) {
            Some(call) => call.results(groups.measured(call.measure, rows.clone()))?,
            None => groups.keys(rows.clone()).map_err(from_engine)?.swap_remove(first.column),
        };
        let sorted = sort_to_indices(&values, Some(first.options), Some(first.count))?;
        let mut chosen: Vec<usize> = sorted.values().iter().map(|row| rows.start + *row as usize).collect();
        chosen.sort_unstable();
        let results = chosen.into_iter().map(|group| self.results(groups, group..group + 1));
        Ok(concat_batches(&self.schema, &results.collect::<Result<Vec<_>>>()?)?)
    }
}

/// The work of one thread.
struct AggregateThread {
    scan: Arc<Scan>,
    groups: Groups,
    reservation: MemoryReservation,
    chunks_read: Count,
}

impl AggregateThread {
    /// Groups the rows of the chunks `first`, `first + step`, ...
    async fn read(mut self, first: usize, step: usize) -> Result<(usize, Groups, MemoryReservation)> {
        for position in (first..self.scan.chunks().len()).step_by(step) {
            if self.scan.add_to(&mut self.groups, position).map_err(from_engine)? {
                self.chunks_read.add(1);
            }
            self.groups.set_aside_many().map_err(from_engine)?;
            self.reservation.try_resize(self.groups.memory_bytes())?;
            // A stopped query ends here.
            tokio::task::yield_now().await;
        }
        Ok((first, self.groups, self.reservation))
    }
}

/// Converts an error of the engine. If memory is exhausted, DataFusion's plan may still succeed.
fn from_engine(error: Error) -> DataFusionError {
    match error.kind() {
        ErrorKind::Resources => DataFusionError::ResourcesExhausted(error.to_string()),
        _ => external(error),
    }
}

impl DisplayAs for AggregateExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.aggregation.schema.fields().iter().map(|field| field.name().as_str()).collect();
        let (keys, calls) = names.split_at(self.aggregation.keys.len());
        let (keys, calls) = (keys.join(", "), calls.join(", "));
        write!(f, "AtsdbAggregate: groups=[{keys}], functions=[{calls}]")?;
        if let Some(first) = self.first {
            let (name, order) = (&names[first.column], if first.options.descending { "last" } else { "first" });
            write!(f, ", {order} {} by {name}", first.count)?;
        }
        write!(f, "; if the groups do not fit the memory:")
    }
}

impl ExecutionPlan for AggregateExec {
    plan_methods!(properties, no_expressions, recomputed, single_partition, metrics);

    fn name(&self) -> &str {
        "AtsdbAggregate"
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.spilling]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (spilling, metrics) = (only_input(self.name(), children)?, ExecutionPlanMetricsSet::new());
        Ok(Arc::new(Self { spilling, metrics, ..Self::clone(&self) }))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let batches = stream::once(self.clone().run(context)).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.aggregation.schema), batches.boxed())))
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let unknown = Statistics::new_unknown(&self.aggregation.schema);
        Ok(Arc::new(match self.aggregation.keys.is_empty() {
            true => Statistics { num_rows: Precision::Exact(1), ..unknown },
            false => unknown,
        }))
    }
}
