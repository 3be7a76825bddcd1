//! Finds matches in one pass over both sides. It holds one batch of the left side in memory, and the batches of the
//! right side that contain its matches, which are never many.

use super::node::{MatchCondition, Tolerance};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, UInt32Array, new_null_array};
use datafusion::arrow::compute::{cast, interleave, take};
use datafusion::arrow::datatypes::{DataType, Int64Type, SchemaRef};
use datafusion::arrow::row::{RowConverter, Rows};
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_expr::PhysicalExpr;
use futures::TryStreamExt;
use std::sync::Arc;

/// Rows are emitted before their matches span more batches than this.
const HELD_BATCHES_MAX: usize = 32;

/// Reads one side.
pub(super) struct SideReader {
    input: SendableRecordBatchStream,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    time: Arc<dyn PhysicalExpr>,
    tick: i128,
    /// `None` without keys: all rows then have equal keys.
    converter: Option<RowConverter>,
}

impl SideReader {
    pub(super) fn new(
        input: SendableRecordBatchStream,
        keys: Vec<Arc<dyn PhysicalExpr>>,
        time: Arc<dyn PhysicalExpr>,
        tick: i64,
        converter: Option<RowConverter>,
    ) -> Self {
        Self { input, keys, time, tick: tick.into(), converter }
    }

    async fn next(&mut self) -> Result<Option<SideBatch>> {
        while let Some(batch) = self.input.try_next().await? {
            if batch.num_rows() > 0 {
                return Ok(Some(self.part(batch)?));
            }
        }
        Ok(None)
    }

    fn part(&self, batch: RecordBatch) -> Result<SideBatch> {
        let column = |expr: &Arc<dyn PhysicalExpr>| expr.evaluate(&batch)?.into_array(batch.num_rows());
        let keys = self.keys.iter().map(column).collect::<Result<Vec<ArrayRef>>>()?;
        let times = cast(&column(&self.time)?, &DataType::Int64)?.as_primitive::<Int64Type>().clone();
        let is_null = |row: usize| times.is_null(row) || keys.iter().any(|key| key.is_null(row));
        let null: Vec<bool> = (0..batch.num_rows()).map(is_null).collect();
        let rows = self.converter.as_ref().map(|converter| converter.convert_columns(&keys)).transpose()?;
        Ok(SideBatch { batch, rows, times, null, tick: self.tick })
    }
}

/// A batch of one side, and the values by which its rows are compared.
struct SideBatch {
    batch: RecordBatch,
    rows: Option<Rows>,
    times: Int64Array,
    /// Whether the time or one of the keys is NULL. Such a row matches nothing.
    null: Vec<bool>,
    tick: i128,
}

impl SideBatch {
    fn key(&self, row: usize) -> &[u8] {
        self.rows.as_ref().map_or(&[], |rows| rows.row(row).data())
    }

    fn time(&self, row: usize) -> i128 {
        i128::from(self.times.value(row)) * self.tick
    }
}

/// A row of the right side.
#[derive(Clone)]
struct Match {
    part: Arc<SideBatch>,
    row: usize,
}

/// Merges both sides.
pub(super) struct Matcher {
    left: SideReader,
    right: SideReader,
    condition: MatchCondition,
    schema: SchemaRef,
    /// The left batch, and its first row that is not emitted yet.
    open: Option<(SideBatch, usize)>,
    /// The right row that is compared with next; `None` at the end.
    ahead: Option<Match>,
    started: bool,
    /// The last row that a backward search has passed; `None` before the first.
    behind: Option<Match>,
}

impl Matcher {
    pub(super) fn new(left: SideReader, right: SideReader, condition: MatchCondition, schema: SchemaRef) -> Self {
        Self { left, right, condition, schema, open: None, ahead: None, started: false, behind: None }
    }

    pub(super) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        if !self.started {
            self.started = true;
            self.ahead = self.right.next().await?.map(|part| Match { part: Arc::new(part), row: 0 });
        }
        loop {
            let (part, start) = match self.open.take() {
                Some(open) => open,
                None => match self.left.next().await? {
                    Some(part) => (part, 0),
                    None => return Ok(None),
                },
            };
            let mut pairs = Pairs::default();
            let mut row = start;
            while row < part.batch.num_rows() && pairs.parts.len() < HELD_BATCHES_MAX {
                let found = if part.null[row] { None } else { self.find(&part, row).await? };
                if found.is_some() || self.condition.is_left {
                    pairs.push(row, found);
                }
                row += 1;
            }
            let answer = pairs.into_batch(&part.batch, &self.right.input.schema(), &self.schema)?;
            if row < part.batch.num_rows() {
                self.open = Some((part, row));
            }
            if answer.num_rows() > 0 {
                return Ok(Some(answer));
            }
        }
    }

    /// The match of a left row.
    async fn find(&mut self, left: &SideBatch, row: usize) -> Result<Option<Match>> {
        let (key, time) = (left.key(row), left.time(row));
        // Whether rows with the same time are passed: in a backward search they are then the match, in a forward search
        // they are not.
        let pass_equal = self.condition.is_backward() != self.condition.is_strict();
        while let Some(ahead) = &self.ahead {
            let (part, at) = (&ahead.part, ahead.row);
            let order = part.key(at).cmp(key);
            let is_passed = order.is_lt()
                || (order.is_eq() && !part.null[at] && (part.time(at) < time || (pass_equal && part.time(at) == time)));
            if !is_passed {
                break;
            }
            if order.is_eq() {
                self.behind = Some(ahead.clone());
            }
            self.advance().await?;
        }
        let candidate = if self.condition.is_backward() { &self.behind } else { &self.ahead };
        let is_match = |found: &&Match| {
            let (part, at) = (&found.part, found.row);
            part.key(at) == key && !part.null[at] && self.is_near(part.time(at), time)
        };
        Ok(candidate.as_ref().filter(is_match).cloned())
    }

    fn is_near(&self, right: i128, left: i128) -> bool {
        let distance = (left - right).abs();
        match self.condition.tolerance {
            None => true,
            Some(Tolerance { distance: limit, strict: true }) => distance < limit,
            Some(Tolerance { distance: limit, strict: false }) => distance <= limit,
        }
    }

    async fn advance(&mut self) -> Result<()> {
        let Some(ahead) = &mut self.ahead else { return Ok(()) };
        ahead.row += 1;
        if ahead.row == ahead.part.batch.num_rows() {
            self.ahead = self.right.next().await?.map(|part| Match { part: Arc::new(part), row: 0 });
        }
        Ok(())
    }
}

/// Left rows with their matches.
#[derive(Default)]
struct Pairs {
    left: Vec<u32>,
    /// The position in `parts`, and the row in that part; part 0 is a row of NULLs.
    right: Vec<(usize, usize)>,
    parts: Vec<Arc<SideBatch>>,
}

impl Pairs {
    fn push(&mut self, row: usize, found: Option<Match>) {
        self.left.push(row as u32);
        self.right.push(match found {
            None => (0, 0),
            Some(Match { part, row }) => {
                // Matches are found in the order of the right side's batches.
                if !self.parts.last().is_some_and(|last| Arc::ptr_eq(last, &part)) {
                    self.parts.push(part);
                }
                (self.parts.len(), row)
            }
        });
    }

    fn into_batch(self, left: &RecordBatch, right: &SchemaRef, schema: &SchemaRef) -> Result<RecordBatch> {
        let rows = UInt32Array::from(self.left);
        let mut columns = Vec::with_capacity(schema.fields().len());
        for column in left.columns() {
            columns.push(take(column, &rows, None)?);
        }
        for (at, field) in right.fields().iter().enumerate() {
            let null = new_null_array(field.data_type(), 1);
            let mut arrays: Vec<&dyn Array> = vec![null.as_ref()];
            arrays.extend(self.parts.iter().map(|part| part.batch.column(at).as_ref()));
            columns.push(interleave(&arrays, &self.right)?);
        }
        let options = datafusion::arrow::array::RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
    }
}
