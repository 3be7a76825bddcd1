//! The operator. Each thread reads some of the chunks that have rows of the input.

use super::rows_by_chunk::RowsByChunk;
use crate::scan::operator::AtsdbScan;
use atsdb_dialect::operators::plan_methods::{only_input, plan_methods};
use atsdb_dialect::text::datafusion_errors::external;
use atsdb_engine::{LocatedRows, Scan};
use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{SchemaRef, UInt32Type};
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use futures::{TryStreamExt, stream};
use std::fmt;
use std::sync::Arc;
use tokio::task::JoinSet;

const NAME: &str = "FetchRows";

/// The source of a column of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnSource {
    /// The column of the input with this position.
    Input(usize),
    /// The fetched column with this position.
    Fetched(usize),
}

/// Completes rows by the columns that the scan below has not read. The last two columns of the input are the locations
/// of the rows in the scan.
#[derive(Debug, Clone)]
pub(crate) struct FetchRowsExec {
    input: Arc<dyn ExecutionPlan>,
    /// Reads the fetched columns from the chunks of the scan below.
    scan: Arc<Scan>,
    table: String,
    /// The source of each column of the result.
    sources: Arc<[ColumnSource]>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl FetchRowsExec {
    /// The operator in place of a plan over `scan`. `input` returns the same rows without the fetched columns, which
    /// are given by position in the scan.
    pub(super) fn new(
        plan: &Arc<dyn ExecutionPlan>,
        input: Arc<dyn ExecutionPlan>,
        scan: &AtsdbScan,
        fetched: &[usize],
        sources: Vec<ColumnSource>,
    ) -> Result<Self> {
        let properties = PlanProperties::new(
            plan.equivalence_properties().clone(),
            plan.output_partitioning().clone(),
            plan.pipeline_behavior(),
            plan.boundedness(),
        );
        Ok(Self {
            input,
            scan: Arc::new(scan.scan().with_columns(fetched).map_err(external)?),
            table: scan.table().definition.name.clone(),
            sources: sources.into(),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }
}

impl DisplayAs for FetchRowsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.schema();
        let columns = self.sources.iter().zip(schema.fields());
        let fetched = columns.filter(|(source, _)| matches!(source, ColumnSource::Fetched(_)));
        let names: Vec<&str> = fetched.map(|(_, field)| field.name().as_str()).collect();
        write!(f, "{NAME}: table={}, columns=[{}]", self.table, names.join(", "))
    }
}

impl ExecutionPlan for FetchRowsExec {
    plan_methods!(properties, no_expressions, recomputed, input, single_partition, keeps_order, metrics);

    fn name(&self) -> &str {
        NAME
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (input, metrics) = (only_input(self.name(), children)?, ExecutionPlanMetricsSet::new());
        Ok(Arc::new(Self { input, metrics, ..Self::clone(&self) }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let fetch = RowFetch {
            scan: Arc::clone(&self.scan),
            schema: self.schema(),
            sources: Arc::clone(&self.sources),
            threads: context.session_config().target_partitions().max(1),
            memory: Arc::clone(context.memory_pool()),
            chunks_read: MetricBuilder::new(&self.metrics).counter("chunks_read", partition),
            pages_read: MetricBuilder::new(&self.metrics).counter("pages_read", partition),
            output_rows: MetricBuilder::new(&self.metrics).output_rows(partition),
        };
        let batch_rows_max = context.session_config().batch_size().max(1);
        let batches = stream::once(fetch.complete_all(input)).map_ok(move |rows: RecordBatch| {
            let row_count = rows.num_rows();
            let batch = move |start: usize| rows.slice(start, batch_rows_max.min(row_count - start));
            stream::iter((0..row_count).step_by(batch_rows_max).map(batch).map(Ok::<_, DataFusionError>))
        });
        let batches = batches.try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }
}

/// The work of the operator while it runs.
struct RowFetch {
    scan: Arc<Scan>,
    schema: SchemaRef,
    sources: Arc<[ColumnSource]>,
    threads: usize,
    memory: Arc<dyn MemoryPool>,
    chunks_read: Count,
    pages_read: Count,
    output_rows: Count,
}

impl RowFetch {
    /// Completes all rows of the input, which are few. Batch by batch, chunks would be read several times.
    async fn complete_all(self, input: SendableRecordBatchStream) -> Result<RecordBatch> {
        let schema = input.schema();
        let batches: Vec<RecordBatch> = input.try_collect().await?;
        self.complete(&concat_batches(&schema, &batches)?).await
    }

    /// Completes rows, in their order.
    async fn complete(&self, located: &RecordBatch) -> Result<RecordBatch> {
        let (row_count, column_count) = (located.num_rows(), located.num_columns());
        if row_count == 0 {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        }
        let Some(locations) = column_count.checked_sub(2) else { return internal_err!("rows without locations") };
        let positions = located.column(locations).as_primitive::<UInt32Type>();
        let numbers = located.column(locations + 1).as_primitive::<UInt32Type>();
        let RowsByChunk { chunks, rows } = RowsByChunk::new(positions.values(), numbers.values());
        let reservation = Arc::new(MemoryConsumer::new(NAME).register(&self.memory));
        let parts = self.read(chunks, &reservation).await?;
        // Combining the rows copies them.
        reservation.try_grow(reservation.size())?;
        let fetched = self.scan.combine_located(&parts, &rows).map_err(external)?;
        let column = |source: &ColumnSource| match source {
            ColumnSource::Input(at) => ArrayRef::clone(located.column(*at)),
            ColumnSource::Fetched(at) => ArrayRef::clone(fetched.column(*at)),
        };
        self.output_rows.add(row_count);
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), self.sources.iter().map(column).collect())?)
    }

    /// Reads the rows of each chunk, in the order of `chunks`.
    async fn read(
        &self,
        chunks: Vec<(usize, UInt32Array)>,
        reservation: &Arc<MemoryReservation>,
    ) -> Result<Vec<LocatedRows>> {
        self.chunks_read.add(chunks.len());
        self.pages_read.add(chunks.len() * self.scan.request().columns.len());
        let chunks: Arc<[(usize, UInt32Array)]> = chunks.into();
        let threads = self.threads.min(chunks.len());
        let mut tasks = JoinSet::new();
        for first in 0..threads {
            let part = FetchThread {
                scan: Arc::clone(&self.scan),
                chunks: Arc::clone(&chunks),
                reservation: Arc::clone(reservation),
            };
            tasks.spawn(part.read(first, threads));
        }
        let mut parts = Vec::with_capacity(chunks.len());
        while let Some(part) = tasks.join_next().await {
            match part {
                Ok(part) => parts.extend(part?),
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(error) => return Err(DataFusionError::ExecutionJoin(Box::new(error))),
            }
        }
        parts.sort_by_key(|(place, _)| *place);
        Ok(parts.into_iter().map(|(_, rows)| rows).collect())
    }
}

/// The work of one thread.
struct FetchThread {
    scan: Arc<Scan>,
    chunks: Arc<[(usize, UInt32Array)]>,
    reservation: Arc<MemoryReservation>,
}

impl FetchThread {
    /// Reads the rows of the chunks `first`, `first + step`, ..., each with its place in `chunks`.
    async fn read(self, first: usize, step: usize) -> Result<Vec<(usize, LocatedRows)>> {
        let mut parts = Vec::new();
        for (place, (position, numbers)) in self.chunks.iter().enumerate().skip(first).step_by(step) {
            let rows = self.scan.read_located(*position, numbers).map_err(external)?;
            self.reservation.try_grow(rows.memory_bytes())?;
            parts.push((place, rows));
            // A stopped query ends here.
            tokio::task::yield_now().await;
        }
        Ok(parts)
    }
}
