//! A condition that the engine does not evaluate, such as `url LIKE '%google%'`, over few of many columns. Its columns
//! are read first, and the others only of chunks with rows that match. The filter above the scan stays, so rows that do
//! not match may be returned as well.

use super::columns_left::{columns_of, over_left};
use atsdb_dialect::text::datafusion_errors::external;
use atsdb_engine::Scan;
use datafusion::arrow::array::{Array, AsArray, BooleanArray, BooleanBufferBuilder, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{filter, filter_record_batch, prep_null_mask_filter};
use datafusion::arrow::datatypes::{SchemaRef, UInt32Type};
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use std::sync::Arc;
use std::task::Poll;

/// The minimum number of other columns that are worth a second read.
const OTHERS_MIN: usize = 4;
/// The condition may use at most one of this many columns.
const CONDITION_SHARE: usize = 2;
/// The number of rows of which at least one must match, so that whole rows are read without picking them.
const WHOLE_SHARE: usize = 4;
/// The number of chunks, one after the other, that were tested and then read whole, after which the others are not
/// tested.
const WHOLE_CHUNKS_MAX: usize = 3;

/// A condition on the rows of a scan.
#[derive(Debug, Clone)]
pub(crate) struct RowFilter {
    /// Over the columns that it uses.
    condition: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
    /// Reads the columns of the condition.
    scan: Arc<Scan>,
}

impl RowFilter {
    /// The filter for a condition over a scan with this schema. `None` if too little would be saved.
    pub(crate) fn new(condition: &Arc<dyn PhysicalExpr>, scan: &Scan, schema: &SchemaRef) -> Result<Option<Self>> {
        let columns: Vec<usize> = columns_of([condition]).into_iter().collect();
        let all = schema.fields().len();
        let is_worth_it = columns.len() * CONDITION_SHARE <= all && all - columns.len() >= OTHERS_MIN;
        // A condition that is different each time must not be evaluated twice.
        if columns.is_empty() || !is_worth_it || is_volatile(condition) {
            return Ok(None);
        }
        Ok(Some(Self {
            condition: over_left(condition, &columns)?,
            schema: Arc::new(schema.project(&columns)?),
            scan: Arc::new(scan.with_columns(&columns).map_err(external)?),
        }))
    }

    /// The names of the columns that are read first.
    pub(crate) fn columns(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// Returns for each row of a batch whether it matches.
    fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let matches = self.condition.evaluate(batch)?.into_array(batch.num_rows())?;
        let matches = matches.as_boolean();
        // NULL means unknown: such a row does not match.
        Ok(if matches.null_count() > 0 { prep_null_mask_filter(matches) } else { matches.clone() })
    }
}

/// Reads chunks one after the other with a condition.
pub(crate) struct FilteredReader {
    row_filter: RowFilter,
    batch_rows_max: usize,
    /// The chunk whose rows are being tested.
    test: Option<ChunkTest>,
    /// The number of consecutive chunks, up to the last one read, that were tested and then read whole.
    whole_chunks: usize,
}

impl FilteredReader {
    pub(crate) fn new(row_filter: RowFilter, batch_rows_max: usize) -> Self {
        Self { row_filter, batch_rows_max, test: None, whole_chunks: 0 }
    }

    /// Returns the number of columns that are read first.
    pub(crate) fn column_count(&self) -> usize {
        self.row_filter.schema.fields().len()
    }

    /// The rows of a chunk of `whole` that match, or more. `None` if none match: then only the columns of the condition
    /// were read. `Pending` when a batch of its rows is tested: the next call with this chunk goes on.
    pub(crate) fn read(&mut self, whole: &Scan, position: usize) -> Result<Poll<Option<RecordBatch>>> {
        if self.whole_chunks >= WHOLE_CHUNKS_MAX {
            return whole.read(position).map(Poll::Ready).map_err(external);
        }
        let test = match self.test.take().filter(|test| test.position == position) {
            Some(test) => Some(test),
            None => ChunkTest::new(&self.row_filter, position)?,
        };
        let Some(mut test) = test else { return Ok(Poll::Ready(None)) };
        let picked = match test.test_batch(&self.row_filter, self.batch_rows_max) {
            Ok(()) if !test.is_complete() => {
                self.test = Some(test);
                return Ok(Poll::Pending);
            }
            Ok(()) => test.picked(&self.row_filter, self.batch_rows_max),
            Err(error) => Err(error),
        };
        match picked {
            Ok(Some(numbers)) => {
                self.whole_chunks = 0;
                if numbers.is_empty() {
                    return Ok(Poll::Ready(None));
                }
                let located = whole.read_located(position, &numbers).map_err(external)?;
                whole.rows_of_chunk(&located).map(|rows| Poll::Ready(Some(rows))).map_err(external)
            }
            // If the condition fails for a row, the filter above reports that, unless a limit ends the query before.
            Ok(None) | Err(_) => {
                self.whole_chunks += 1;
                whole.read(position).map(Poll::Ready).map_err(external)
            }
        }
    }
}

/// A test of the rows of one chunk.
struct ChunkTest {
    position: usize,
    /// The columns of the condition.
    rows: RecordBatch,
    /// The numbers of the rows in the chunk.
    numbers: UInt32Array,
    /// Whether a row matches, for each row tested so far.
    matching: BooleanBufferBuilder,
}

impl ChunkTest {
    /// `None` if the chunk has no rows in the scan.
    fn new(row_filter: &RowFilter, position: usize) -> Result<Option<Self>> {
        let Some((rows, numbers)) = row_filter.scan.read_numbered(position).map_err(external)? else { return Ok(None) };
        let rows = RecordBatch::try_new(Arc::clone(&row_filter.schema), rows.columns().to_vec())?;
        let matching = BooleanBufferBuilder::new(rows.num_rows());
        Ok(Some(Self { position, rows, numbers, matching }))
    }

    fn is_complete(&self) -> bool {
        self.matching.len() == self.rows.num_rows()
    }

    /// Tests the next rows: as many as the filter above tests at a time.
    fn test_batch(&mut self, row_filter: &RowFilter, batch_rows_max: usize) -> Result<()> {
        let start = self.matching.len();
        let batch = self.rows.slice(start, batch_rows_max.min(self.rows.num_rows() - start));
        self.matching.append_buffer(row_filter.evaluate(&batch)?.values());
        Ok(())
    }

    /// The numbers of the rows that match. `None` if they are so many that the whole chunk is better read.
    ///
    /// A part of a condition, such as `b` in `a OR b`, is evaluated for a row or not, depending on the other rows of
    /// the batch. So the rows are tested again in the batches in which the filter above gets them. An error means that
    /// it would fail only because rows were left out.
    fn picked(mut self, row_filter: &RowFilter, batch_rows_max: usize) -> Result<Option<UInt32Array>> {
        let matching = BooleanArray::new(self.matching.finish(), None);
        let count = matching.true_count();
        if count > 0 && count * WHOLE_SHARE >= matching.len() {
            return Ok(None);
        }
        let rows = filter_record_batch(&self.rows, &matching)?;
        for start in (0..count).step_by(batch_rows_max) {
            row_filter.evaluate(&rows.slice(start, batch_rows_max.min(count - start)))?;
        }
        Ok(Some(filter(&self.numbers, &matching)?.as_primitive::<UInt32Type>().clone()))
    }
}
