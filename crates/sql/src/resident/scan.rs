//! The leaf of a physical plan that reads a table in memory: all of it, or the rows that an index finds.

use super::lookup::Lookup;
use atsdb_dialect::operators::plan_methods::plan_methods;
use atsdb_dialect::text::datafusion_errors::external;
use atsdb_resident::{TableMatches, TableState};
use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::stream;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Reads one table.
#[derive(Debug, Clone)]
pub(crate) struct ResidentScan {
    state: Arc<TableState>,
    /// The columns by position in the table. The two positions after the table's columns are the row's part and its
    /// number.
    columns: Vec<usize>,
    schema: SchemaRef,
    lookup: Option<Lookup>,
    limit: Option<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ResidentScan {
    pub(crate) fn new(
        state: Arc<TableState>,
        columns: Vec<usize>,
        schema: SchemaRef,
        lookup: Option<Lookup>,
        partition_count: usize,
        limit: Option<usize>,
    ) -> Self {
        let partition_count = if lookup.is_some() { 1 } else { partition_count };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(partition_count),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        Self { state, columns, schema, lookup, limit, properties: Arc::new(properties), metrics }
    }

    pub(crate) fn state(&self) -> &Arc<TableState> {
        &self.state
    }

    /// The columns it returns, by position in the table.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Returns whether it reads every row, without locations.
    pub(crate) fn is_whole(&self) -> bool {
        let column_count = self.state.definition().columns.len();
        self.lookup.is_none() && self.limit.is_none() && self.columns.iter().all(|column| *column < column_count)
    }

    /// Collects the rows that were found.
    fn gather(&self, found: &TableMatches) -> Result<RecordBatch> {
        let column_count = self.state.definition().columns.len();
        let stored: Vec<usize> = self.columns.iter().copied().filter(|column| *column < column_count).collect();
        let mut gathered = self.state.gather(found, &stored).map_err(external)?.into_iter();
        let parts: ArrayRef = Arc::new(UInt32Array::from(found.parts.clone()));
        let rows: ArrayRef = Arc::new(UInt32Array::from(found.rows.clone()));
        self.batch(&mut gathered, &parts, &rows)
    }

    /// Reads a range of rows.
    fn read(&self, part: usize, rows: Range<usize>) -> Result<RecordBatch> {
        let column_count = self.state.definition().columns.len();
        let stored: Vec<usize> = self.columns.iter().copied().filter(|column| *column < column_count).collect();
        let (columns, numbers) = self.state.read(part, rows, &stored).map_err(external)?;
        let parts: ArrayRef = Arc::new(UInt32Array::from_value(part as u32, numbers.len()));
        let numbers: ArrayRef = Arc::new(numbers);
        self.batch(&mut columns.into_iter(), &parts, &numbers)
    }

    fn batch(
        &self,
        stored: &mut dyn Iterator<Item = ArrayRef>,
        parts: &ArrayRef,
        numbers: &ArrayRef,
    ) -> Result<RecordBatch> {
        let column_count = self.state.definition().columns.len();
        let columns = self.columns.iter().filter_map(|column| match column.checked_sub(column_count) {
            None => stored.next(),
            Some(0) => Some(Arc::clone(parts)),
            Some(_) => Some(Arc::clone(numbers)),
        });
        let options = RecordBatchOptions::new().with_row_count(Some(numbers.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns.collect(), &options)?)
    }
}

impl DisplayAs for ResidentScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, "MemoryScan: table={}, columns=[{}]", self.state.definition().name, columns.join(", "))?;
        if let Some(lookup) = &self.lookup {
            write!(f, ", {}", lookup.description)?;
        }
        self.limit.map_or(Ok(()), |limit| write!(f, ", limit={limit}"))
    }
}

impl ExecutionPlan for ResidentScan {
    plan_methods!(properties, no_expressions, no_children, metrics);

    fn name(&self) -> &str {
        "MemoryScan"
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let batch_rows = context.session_config().batch_size().max(1);
        let (scan, metrics) = (self.clone(), BaselineMetrics::new(&self.metrics, partition));
        let pieces: Box<dyn Iterator<Item = Result<RecordBatch>> + Send> = match &self.lookup {
            Some(lookup) => {
                let found = self.state.find(lookup.index, &lookup.keys);
                let starts = (0..found.rows.len()).step_by(batch_rows);
                Box::new(starts.map(move |start| scan.gather(&piece(&found, start, batch_rows))))
            }
            None => {
                let step = self.properties.partitioning.partition_count();
                let stretches = self.state.row_ranges(batch_rows).into_iter().skip(partition).step_by(step);
                Box::new(stretches.map(move |(part, rows)| scan.read(part, rows)))
            }
        };
        let mut rows_left = self.limit.unwrap_or(usize::MAX);
        let batches = pieces.map_while(move |batch| {
            let batch = match batch {
                Ok(_) if rows_left == 0 => return None,
                Ok(batch) => batch.slice(0, batch.num_rows().min(rows_left)),
                Err(error) => return Some(Err(error)),
            };
            rows_left -= batch.num_rows();
            metrics.record_output(batch.num_rows());
            Some(Ok(batch))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), stream::iter(batches))))
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema);
        if args.partition().is_none() {
            let row_count = self.state.row_count();
            statistics.num_rows = match (&self.lookup, self.limit) {
                (None, limit) => Precision::Exact(row_count.min(limit.unwrap_or(usize::MAX))),
                (Some(lookup), _) => Precision::Inexact(lookup.keys.row_count()),
            };
        }
        Ok(Arc::new(statistics))
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }
}

/// Some of the rows that were found.
pub(super) fn piece(found: &TableMatches, start: usize, length: usize) -> TableMatches {
    let range = start..(start + length).min(found.rows.len());
    let cut = |values: &[u32]| values[range.clone()].to_vec();
    TableMatches { probes: cut(&found.probes), parts: cut(&found.parts), rows: cut(&found.rows) }
}
