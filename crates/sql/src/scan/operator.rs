//! The leaf of a physical plan: a planned read of the engine, with its chunks distributed over partitions.

use super::description::describe;
use super::partition_reader::{PartitionReader, ReaderMetrics};
use super::row_filter::{FilteredReader, RowFilter};
use super::row_numbers::RowNumbers;
use super::running_filter::{RunningFilter, is_running};
use super::statistics::statistics_of;
use atsdb_core::Table;
use atsdb_dialect::operators::plan_methods::plan_methods;
use atsdb_dialect::text::datafusion_errors::external;
use atsdb_engine::{LatestRows, Scan, ScanRequest};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::filter_pushdown::{ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::{TryStreamExt, stream};
use std::fmt;
use std::sync::Arc;

/// Reads one table. Partition `p` of `n` reads the chunks `p`, `p + n`, `p + 2n`, ..., in the order of slices or, if
/// reversed, from the latest time on.
#[derive(Debug, Clone)]
pub(crate) struct AtsdbScan {
    scan: Arc<Scan>,
    schema: SchemaRef,
    /// Rows after which a partition may stop.
    limit: Option<usize>,
    /// The schema's columns by position in the table.
    columns: Arc<[usize]>,
    /// The positions of chunks in the scan, in the order in which they are read.
    order: Arc<[usize]>,
    /// The position of a mapped column, if only the latest rows for each of its values are needed.
    latest_by: Option<usize>,
    /// The columns with the rows' locations, if they are requested.
    numbers: Option<RowNumbers>,
    /// The condition that is evaluated before other columns are read.
    row_filter: Option<RowFilter>,
    running_filters: Vec<Arc<dyn PhysicalExpr>>,
    /// The conditions on the rows that are read, for EXPLAIN.
    description: String,
    statistics: Arc<Statistics>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl AtsdbScan {
    pub(crate) fn new(
        scan: Scan,
        request: ScanRequest,
        schema: SchemaRef,
        partition_count: usize,
        limit: Option<usize>,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(partition_count),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            description: describe(&scan, &request, limit),
            statistics: Arc::new(statistics_of(&scan, &request, limit)),
            order: (0..scan.chunks().len()).collect(),
            columns: request.columns.into(),
            latest_by: None,
            numbers: None,
            row_filter: None,
            running_filters: Vec::new(),
            scan: Arc::new(scan),
            schema,
            limit,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The same scan, from the latest chunk on; `None` if `column` is not the time, or is not read.
    pub(crate) fn latest_first(&self, column: &str) -> Option<Self> {
        let definition = &self.table().definition;
        let at = self.schema.index_of(column).ok()?;
        let time = definition.time_column()?;
        if definition.columns[self.columns[at]].id != time.id {
            return None;
        }
        let order = LatestRows::order(&self.scan).into();
        Some(Self { order, description: format!("{}, latest first", self.description), ..self.clone() })
    }

    /// The same scan, with columns for each row's location.
    pub(crate) fn numbered(self, numbers: RowNumbers) -> Self {
        let statistics = Statistics { num_rows: self.statistics.num_rows, ..Statistics::new_unknown(&self.schema) };
        let columns = numbers.spread(&self.columns).into();
        Self { columns, numbers: Some(numbers), statistics: Arc::new(statistics), ..self }
    }

    /// The same scan of some of its columns, by position in its schema, and after them the columns for each row's
    /// location.
    pub(crate) fn located(&self, columns: &[usize]) -> Result<Self> {
        let scan = self.scan.with_columns(columns).map_err(external)?;
        let own = columns.iter().map(|column| Arc::clone(&self.schema.fields()[*column]));
        let fields: Vec<_> = own.chain(RowNumbers::fields().map(Arc::new)).collect();
        let schema = Arc::new(Schema::new(fields));
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            self.properties.partitioning.clone(),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let mut statistics = Statistics { num_rows: self.statistics.num_rows, ..Statistics::new_unknown(&schema) };
        for (of_column, column) in statistics.column_statistics.iter_mut().zip(columns) {
            *of_column = self.statistics.column_statistics[*column].clone();
        }
        let numbers = RowNumbers::after(columns.len());
        let columns: Vec<usize> = columns.iter().map(|column| self.columns[*column]).collect();
        Ok(Self {
            scan: Arc::new(scan),
            schema,
            columns: numbers.spread(&columns).into(),
            numbers: Some(numbers),
            row_filter: None,
            statistics: Arc::new(statistics),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            ..self.clone()
        })
    }

    /// The same scan below a filter, whose condition it evaluates before it reads other columns. `None` if too little
    /// would be saved.
    pub(crate) fn filtered(&self, condition: &Arc<dyn PhysicalExpr>) -> Result<Option<Self>> {
        if !self.reads_whole_chunks() {
            return Ok(None);
        }
        let row_filter = RowFilter::new(condition, &self.scan, &self.schema)?;
        Ok(row_filter.map(|filter| {
            // Rows that do not match may be missing.
            let statistics = Arc::new(Statistics::clone(&self.statistics).to_inexact());
            Self { row_filter: Some(filter), statistics, ..self.clone() }
        }))
    }

    pub(crate) fn is_numbered(&self) -> bool {
        self.numbers.is_some()
    }

    pub(crate) fn scan(&self) -> Arc<Scan> {
        Arc::clone(&self.scan)
    }

    /// The columns that are read, by position in the table's definition.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    pub(crate) fn table(&self) -> &Table {
        self.scan.table()
    }

    /// Returns whether a column contains the indices of a mapped column.
    pub(crate) fn is_index(&self, column: usize) -> bool {
        let of_table = self.columns.get(column).and_then(|position| self.table().definition.columns.get(*position));
        let is_mapped = of_table.is_some_and(|column| column.map.is_some());
        is_mapped && self.schema.field(column).data_type().is_integer()
    }

    /// Returns whether it returns all matching rows of its chunks, and no operator above stops early.
    pub(crate) fn reads_whole_chunks(&self) -> bool {
        self.limit.is_none() && self.latest_by.is_none() && self.numbers.is_none() && self.running_filters.is_empty()
    }

    /// The same scan in one partition, which only reads rows that may be the latest for their value of a mapped column.
    /// A scan that does not read that column is returned unchanged.
    pub(crate) fn latest_by(self, column: usize) -> Self {
        if LatestRows::new(&self.scan, column).is_none() {
            return self;
        }
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&self.schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let name = &self.table().definition.columns[column].name;
        Self {
            order: LatestRows::order(&self.scan).into(),
            latest_by: Some(column),
            description: format!("{}, latest of each {name}", self.description),
            statistics: Arc::new(Statistics::new_unknown(&self.schema)),
            properties: Arc::new(properties),
            ..self
        }
    }
}

impl DisplayAs for AtsdbScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, read) = (&self.table().definition.name, self.scan.chunks().len());
        let columns: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        // The other chunks are counted only for EXPLAIN; running the plan needs no list of them.
        let total = self.scan.chunk_count_total().map_or_else(|_| "?".to_owned(), |total| total.to_string());
        let columns = columns.join(", ");
        write!(f, "AtsdbScan: table={name}, columns=[{columns}], chunks={read} of {total}{}", self.description)?;
        match &self.row_filter {
            Some(filter) => write!(f, ", first reads [{}]", filter.columns().join(", ")),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for AtsdbScan {
    plan_methods!(properties, no_expressions, no_children, metrics);

    fn name(&self) -> &str {
        "AtsdbScan"
    }

    /// Called before it is executed again. The operators then publish new filters, and the old ones are no longer
    /// valid.
    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self { running_filters: Vec::new(), ..Self::clone(&self) }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let partition_count = self.properties.partitioning.partition_count();
        let batch_rows_max = context.session_config().batch_size().max(1);
        let reader = PartitionReader {
            scan: Arc::clone(&self.scan),
            schema: Arc::clone(&self.schema),
            columns: Arc::clone(&self.columns),
            order: Arc::clone(&self.order),
            filter: RunningFilter::new(&self.running_filters, &self.schema),
            latest: self.latest_by.and_then(|column| LatestRows::new(&self.scan, column)),
            numbers: self.numbers,
            filtered: self.row_filter.clone().map(|filter| FilteredReader::new(filter, batch_rows_max)),
            next: partition,
            step: partition_count,
            rows_left: self.limit.unwrap_or(usize::MAX),
            batch_rows_max,
            rest: None,
            metrics: ReaderMetrics::new(&self.metrics, partition),
        };
        let batches = stream::iter(reader).try_filter_map(|batch| async move {
            // A stopped query ends here, even if no row is returned for a long time.
            if batch.is_none() {
                tokio::task::yield_now().await;
            }
            Ok(batch)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches)))
    }

    /// Static filters came with the request. Those that change while the query runs are kept to skip chunks.
    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let filters = result.parent_filters.iter().map(|filter| Arc::clone(&filter.filter));
        let running: Vec<Arc<dyn PhysicalExpr>> = filters.filter(is_running).collect();
        // All are reported as not applied, so that the operators that published them apply them to the rows.
        let propagation = FilterPushdownPropagation::all_unsupported(result);
        if running.is_empty() || phase != FilterPushdownPhase::Post {
            return Ok(propagation);
        }
        let running_filters = self.running_filters.iter().cloned().chain(running).collect();
        Ok(propagation.with_updated_node(Arc::new(Self { running_filters, ..self.clone() })))
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match args.partition() {
            None => Ok(Arc::clone(&self.statistics)),
            Some(_) => Ok(Arc::new(Statistics::new_unknown(&self.schema))),
        }
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }
}
