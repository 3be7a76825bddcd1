//! The rows of one partition of a scan, in batches.

use super::row_filter::FilteredReader;
use super::row_numbers::RowNumbers;
use super::running_filter::RunningFilter;
use atsdb_dialect::text::datafusion_errors::external;
use atsdb_engine::{LatestRows, Scan};
use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, Time};
use std::sync::Arc;
use std::task::Poll;

/// The metrics of a partition's reader, which EXPLAIN ANALYZE shows.
pub(super) struct ReaderMetrics {
    chunks_read: Count,
    chunks_skipped: Count,
    pages_read: Count,
    output_rows: Count,
    read_time: Time,
}

impl ReaderMetrics {
    pub(super) fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        Self {
            chunks_read: MetricBuilder::new(set).counter("chunks_read", partition),
            chunks_skipped: MetricBuilder::new(set).counter("chunks_skipped", partition),
            pages_read: MetricBuilder::new(set).counter("pages_read", partition),
            output_rows: MetricBuilder::new(set).output_rows(partition),
            read_time: MetricBuilder::new(set).subset_time("read_time", partition),
        }
    }
}

/// Reads the chunks of one partition, each when its rows are wanted.
pub(super) struct PartitionReader {
    pub(super) scan: Arc<Scan>,
    /// The schema of the batches.
    pub(super) schema: SchemaRef,
    /// The schema's columns by position in the table.
    pub(super) columns: Arc<[usize]>,
    /// The positions of chunks in the scan, in the order in which they are read.
    pub(super) order: Arc<[usize]>,
    pub(super) filter: Option<RunningFilter>,
    pub(super) latest: Option<LatestRows>,
    pub(super) numbers: Option<RowNumbers>,
    pub(super) filtered: Option<FilteredReader>,
    /// The position in `order` of the next chunk of the partition.
    pub(super) next: usize,
    /// The distance between two of the partition's chunks in `order`.
    pub(super) step: usize,
    pub(super) rows_left: usize,
    pub(super) batch_rows_max: usize,
    /// The remaining rows of the chunk that was read last.
    pub(super) rest: Option<RecordBatch>,
    pub(super) metrics: ReaderMetrics,
}

impl Iterator for PartitionReader {
    /// A batch, or `None` after a step of the work that returns no rows.
    type Item = Result<Option<RecordBatch>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rows_left == 0 {
            return None;
        }
        if self.rest.is_none() {
            if self.next >= self.order.len() {
                return None;
            }
            match self.read_chunk() {
                Ok(rest) => self.rest = rest,
                Err(error) => {
                    self.rows_left = 0;
                    return Some(Err(error));
                }
            }
        }
        let Some(rest) = self.rest.take() else { return Some(Ok(None)) };
        let row_count = rest.num_rows().min(self.batch_rows_max);
        if row_count < rest.num_rows() {
            self.rest = Some(rest.slice(row_count, rest.num_rows() - row_count));
        }
        let batch = rest.slice(0, row_count.min(self.rows_left));
        self.rows_left -= batch.num_rows();
        self.metrics.output_rows.add(batch.num_rows());
        Some(Ok(Some(batch)))
    }
}

impl PartitionReader {
    /// Returns whether filters that change while the query runs show that no row of a chunk is needed.
    fn can_skip(&mut self, position: usize) -> Result<bool> {
        if let Some(filter) = &mut self.filter
            && !filter.can_match(&self.scan.chunks()[position], &self.scan.table().definition, &self.columns)?
        {
            return Ok(true);
        }
        Ok(self.latest.as_ref().is_some_and(|latest| !latest.can_add(&self.scan, position)))
    }

    /// Reads the next chunk, or tests a batch of its rows.
    fn read_chunk(&mut self) -> Result<Option<RecordBatch>> {
        let position = self.order[self.next];
        if self.can_skip(position)? {
            self.metrics.chunks_skipped.add(1);
            self.next += self.step;
            return Ok(None);
        }
        let timer = self.metrics.read_time.timer();
        let read = match (&mut self.latest, self.numbers, &mut self.filtered) {
            (Some(latest), _, _) => latest.read(&self.scan, position).map_err(external)?.map(columns_of),
            (None, Some(numbers), _) => numbers.read(&self.scan, position).map_err(external)?,
            (None, None, Some(filtered)) => match filtered.read(&self.scan, position)? {
                Poll::Ready(rows) => rows.map(columns_of),
                Poll::Pending => return Ok(None),
            },
            (None, None, None) => self.scan.read(position).map_err(external)?.map(columns_of),
        };
        timer.done();
        self.next += self.step;
        self.metrics.chunks_read.add(1);
        let is_stored = |column: &&usize| **column < self.scan.table().definition.columns.len();
        self.metrics.pages_read.add(match (&self.filtered, &read) {
            (Some(filtered), None) => filtered.column_count(),
            _ => self.columns.iter().filter(is_stored).count(),
        });
        let Some((columns, row_count)) = read.filter(|(_, row_count)| *row_count > 0) else { return Ok(None) };
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        Ok(Some(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?))
    }
}

fn columns_of(rows: RecordBatch) -> (Vec<ArrayRef>, usize) {
    (rows.columns().to_vec(), rows.num_rows())
}
