//! Fills gaps while rows stream by, sorted by series and bucket. One series is in memory at a time, or all rows if the
//! time range is known only from them.

use super::bounds::range;
use super::fill::{BucketIterator, CarryForward, Interpolation};
use super::node::FillKind;
use super::parameters::{GapFillParameters, PhysicalFill};
use crate::text::datafusion_errors::external;
use atsdb_core::{Error, ErrorKind};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{BatchCoalescer, cast, concat_batches, take};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type, SchemaRef};
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::TryStreamExt;
use std::collections::VecDeque;
use std::sync::Arc;

/// The maximum number of rows that one query may add for gaps.
const GAP_ROWS_MAX: u64 = 10_000_000;

/// Reads rows with gaps, and returns rows without.
pub(super) struct Filler {
    parameters: Arc<GapFillParameters>,
    schema: SchemaRef,
    input: SendableRecordBatchStream,
    /// Rows that were read in advance to find the time range.
    waiting: VecDeque<RecordBatch>,
    /// The batch that is being cut into series.
    current: Option<Cutting>,
    /// `None` if no columns distinguish series: there is then exactly one, even without rows.
    converter: Option<RowConverter>,
    range: Option<(i64, i64)>,
    series_count: usize,
    open: Option<Series>,
    gap_rows: u64,
    batch_rows: usize,
    ready: BatchCoalescer,
    finished: bool,
    reservation: MemoryReservation,
}

struct Cutting {
    batch: RecordBatch,
    keys: Option<Rows>,
    /// The start of the next series.
    start: usize,
}

impl Filler {
    pub(super) fn new(
        parameters: Arc<GapFillParameters>,
        schema: SchemaRef,
        input: SendableRecordBatchStream,
        batch_rows: usize,
        reservation: MemoryReservation,
    ) -> Result<Self> {
        let fields: Vec<SortField> =
            parameters.series().map(|at| SortField::new(schema.field(at).data_type().clone())).collect();
        let converter = if fields.is_empty() { None } else { Some(RowConverter::new(fields)?) };
        Ok(Self {
            ready: BatchCoalescer::new(Arc::clone(&schema), batch_rows),
            parameters,
            schema,
            input,
            waiting: VecDeque::new(),
            current: None,
            converter,
            range: None,
            series_count: 0,
            open: None,
            gap_rows: 0,
            batch_rows,
            finished: false,
            reservation,
        })
    }

    pub(super) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.next_completed_batch() {
                return Ok(Some(batch));
            }
            if self.finished {
                return Ok(None);
            }
            if let Some(series) = &mut self.open {
                match series.next(&self.parameters, &self.schema, self.batch_rows)? {
                    Some((batch, gap_rows)) => {
                        self.gap_rows += gap_rows;
                        if self.gap_rows > GAP_ROWS_MAX {
                            return Err(too_many(&self.parameters.width));
                        }
                        self.ready.push_batch(batch)?;
                    }
                    None => self.open = None,
                }
                continue;
            }
            let range = match self.range {
                Some(range) => range,
                None => self.find_range().await?,
            };
            match self.next_series().await? {
                Some(rows) => {
                    let series = Series::new(rows, &self.parameters, range)?;
                    if self.gap_rows.saturating_add(series.walk.gap_count_min()) > GAP_ROWS_MAX {
                        return Err(too_many(&self.parameters.width));
                    }
                    self.open = Some(series);
                }
                None => {
                    self.finished = true;
                    self.ready.finish_buffered_batch()?;
                }
            }
        }
    }

    /// The range given by the bounds, or else from the first to the last bucket of all rows.
    async fn find_range(&mut self) -> Result<(i64, i64)> {
        let parameters = Arc::clone(&self.parameters);
        let found = match range(&parameters.bounds, &parameters.steps, parameters.ticks).map_err(external)? {
            (Some(start), Some(end)) => (start, end),
            (start, end) => {
                let (mut first, mut last): (Option<i64>, Option<i64>) = (None, None);
                while let Some(batch) = self.input.try_next().await? {
                    self.reservation.try_grow(batch.get_array_memory_size())?;
                    for bucket in counts(batch.column(parameters.bucket_at))?.iter().flatten() {
                        first = Some(first.map_or(bucket, |first| first.min(bucket)));
                        last = Some(last.map_or(bucket, |last| last.max(bucket)));
                    }
                    self.waiting.push_back(batch);
                }
                // Without rows, a single bound does not define a range.
                match (first, last) {
                    (Some(first), Some(last)) => {
                        (start.unwrap_or(first), end.unwrap_or_else(|| last.saturating_add(1)))
                    }
                    _ => (0, 0),
                }
            }
        };
        self.range = Some(found);
        Ok(found)
    }

    /// The rows of the next series.
    async fn next_series(&mut self) -> Result<Option<RecordBatch>> {
        let (mut parts, mut series_key): (Vec<RecordBatch>, Option<Vec<u8>>) = (Vec::new(), None);
        loop {
            let cutting = match &mut self.current {
                Some(cutting) => cutting,
                None => match self.next_batch().await? {
                    Some(batch) => self.current.insert(self.cut(batch)?),
                    None => break,
                },
            };
            let row_count = cutting.batch.num_rows();
            let end = match &cutting.keys {
                None => row_count,
                Some(keys) => {
                    let key = series_key.get_or_insert_with(|| keys.row(cutting.start).data().to_vec());
                    (cutting.start..row_count).find(|row| keys.row(*row).data() != key.as_slice()).unwrap_or(row_count)
                }
            };
            parts.push(cutting.batch.slice(cutting.start, end - cutting.start));
            if end < row_count {
                cutting.start = end;
                break;
            }
            self.current = None;
        }
        if parts.is_empty() && (self.converter.is_some() || self.series_count > 0) {
            return Ok(None);
        }
        self.series_count += 1;
        if let [part] = parts.as_slice() {
            return Ok(Some(part.clone()));
        }
        let bytes: usize = parts.iter().map(RecordBatch::get_array_memory_size).sum();
        self.reservation.try_grow(bytes)?;
        let rows = concat_batches(&self.input.schema(), &parts)?;
        self.reservation.shrink(bytes);
        Ok(Some(rows))
    }

    async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let batch = match self.waiting.pop_front() {
                Some(batch) => {
                    self.reservation.shrink(batch.get_array_memory_size());
                    Some(batch)
                }
                None => self.input.try_next().await?,
            };
            if batch.as_ref().is_none_or(|batch| batch.num_rows() > 0) {
                return Ok(batch);
            }
        }
    }

    fn cut(&self, batch: RecordBatch) -> Result<Cutting> {
        let columns: Vec<ArrayRef> = self.parameters.series().map(|at| Arc::clone(batch.column(at))).collect();
        let keys = self.converter.as_ref().map(|converter| converter.convert_columns(&columns)).transpose()?;
        Ok(Cutting { batch, keys, start: 0 })
    }
}

/// One series: its rows, and the progress of its result.
struct Series {
    rows: RecordBatch,
    walk: BucketIterator,
    fills: Vec<SeriesFill>,
}

enum SeriesFill {
    CarryForward(ArrayRef, CarryForward),
    Interpolation(Float64Array, Interpolation),
}

impl Series {
    fn new(rows: RecordBatch, parameters: &GapFillParameters, range: (i64, i64)) -> Result<Self> {
        let buckets = counts(rows.column(parameters.bucket_at))?;
        let fill = |fill: &PhysicalFill| {
            let values = fill.value.evaluate(&rows)?.into_array(rows.num_rows())?;
            Ok(match fill.kind {
                FillKind::CarryForward => SeriesFill::CarryForward(values, CarryForward::new(fill.longest_gap)),
                FillKind::Interpolation => {
                    let values = cast(&values, &DataType::Float64)?.as_primitive::<Float64Type>().clone();
                    let line = Interpolation::new(fill.longest_gap, &values, &buckets);
                    SeriesFill::Interpolation(values, line)
                }
            })
        };
        let fills = parameters.fills.iter().map(fill).collect::<Result<Vec<_>>>()?;
        let walk = BucketIterator::new(&parameters.steps, buckets, range);
        Ok(Self { rows, walk, fills })
    }

    /// The next rows of the result, and how many of them are in gaps.
    fn next(
        &mut self,
        parameters: &GapFillParameters,
        schema: &SchemaRef,
        count_max: usize,
    ) -> Result<Option<(RecordBatch, u64)>> {
        let places = self.walk.places(count_max);
        if places.is_empty() {
            return Ok(None);
        }
        let own: UInt32Array = places.iter().map(|place| place.row.map(|row| row as u32)).collect();
        let first: UInt32Array = places.iter().map(|place| Some(place.row.unwrap_or(0) as u32)).collect();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(schema.fields().len());
        for (at, column) in self.rows.columns().iter().enumerate() {
            columns.push(if at == parameters.bucket_at {
                let buckets: Int64Array = places.iter().map(|place| place.bucket).collect();
                cast(&buckets, column.data_type())?
            } else if at < parameters.group_count {
                take(column, &first, None)?
            } else {
                take(column, &own, None)?
            });
        }
        for fill in &mut self.fills {
            columns.push(match fill {
                SeriesFill::CarryForward(values, carry) => take(values, &carry.rows(values.as_ref(), &places), None)?,
                SeriesFill::Interpolation(values, line) => Arc::new(line.values(values, &places)),
            });
        }
        let gap_rows = own.null_count() as u64;
        Ok(Some((RecordBatch::try_new(Arc::clone(schema), columns)?, gap_rows)))
    }
}

fn counts(buckets: &ArrayRef) -> Result<Int64Array> {
    Ok(cast(buckets, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
}

fn too_many(width: &str) -> DataFusionError {
    let message = format!("buckets of width {width} would leave more than {GAP_ROWS_MAX} gaps");
    external(
        Error::new(ErrorKind::Limit, message).with_hint("choose wider buckets, a shorter time range or fewer series"),
    )
}
