//! Computes a function for each row of a partition over the row's frame without the excluded rows.
//!
//! The aggregate is computed anew for each row. For long frames the states of whole blocks of rows are computed once,
//! and merged.

use super::call::{Excluding, Exclusion, Inner};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use datafusion::arrow::compute::{filter, partition, prep_null_mask_filter};
use datafusion::arrow::datatypes::{FieldRef, Int64Type, Schema};
use datafusion::common::{Result, ScalarValue, exec_err, internal_err};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, PartitionEvaluator};
use datafusion::physical_expr::PhysicalExpr;
use std::ops::Range;
use std::sync::Arc;

/// The rows of a block whose state is computed once.
const BLOCK_ROWS: usize = 256;

/// The minimum number of rows in a range for which blocks are used.
const MERGED_ROWS_MIN: usize = 4 * BLOCK_ROWS;

/// The state of one partition.
#[derive(Debug)]
pub(super) struct Evaluator {
    function: Excluding,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    fields: Vec<FieldRef>,
    schema: Schema,
    result: FieldRef,
    /// The next row. Rows are evaluated in order, each once.
    row: usize,
    /// The ranges of rows that are equal in ORDER BY, from the first row on, and the one of the row.
    peers: Vec<Range<usize>>,
    peers_at: usize,
    /// The states of all blocks, one array for each of their fields.
    blocks: Option<Vec<ArrayRef>>,
}

impl Evaluator {
    pub(super) fn new(function: Excluding, exprs: Vec<Arc<dyn PhysicalExpr>>, fields: Vec<FieldRef>) -> Result<Self> {
        let (result, schema) = (function.result(&fields, "result")?, Schema::new(fields.clone()));
        let (row, peers, peers_at, blocks) = (0, Vec::new(), 0, None);
        Ok(Self { function, exprs, fields, schema, result, row, peers, peers_at, blocks })
    }

    /// The rows of the frame that stay, in order.
    fn kept(&self, frame: &Range<usize>) -> Vec<Range<usize>> {
        let (row, peers) = (self.row, &self.peers[self.peers_at]);
        let excluded = match self.function.exclusion {
            None => return std::iter::once(frame.clone()).filter(|range| !range.is_empty()).collect(),
            Some(Exclusion::CurrentRow) => &(row..row + 1),
            Some(Exclusion::Group | Exclusion::Ties) => peers,
        };
        let keeps_row = self.function.exclusion == Some(Exclusion::Ties) && frame.contains(&row);
        let before = frame.start..frame.end.min(excluded.start);
        let own = if keeps_row { row..row + 1 } else { 0..0 };
        let behind = frame.start.max(excluded.end)..frame.end;
        [before, own, behind].into_iter().filter(|range| !range.is_empty()).collect()
    }

    fn accumulator(&self) -> Result<Box<dyn Accumulator>> {
        let Inner::Aggregate(aggregate) = &self.function.inner else { return internal_err!("no aggregate") };
        let count = self.function.argument_count;
        aggregate.accumulator(AccumulatorArgs {
            return_field: Arc::clone(&self.result),
            schema: &self.schema,
            ignore_nulls: self.function.ignores_nulls,
            order_bys: &[],
            is_reversed: false,
            name: aggregate.name(),
            is_distinct: self.function.is_distinct,
            exprs: &self.exprs[..count],
            expr_fields: &self.fields[..count],
        })
    }

    /// Adds rows to an accumulator.
    fn update(&self, accumulator: &mut dyn Accumulator, values: &[ArrayRef], rows: Range<usize>) -> Result<()> {
        let count = self.function.argument_count;
        let mut slices: Vec<ArrayRef> =
            values[..self.fields.len()].iter().map(|array| array.slice(rows.start, rows.len())).collect();
        if let [condition] = &slices[count..] {
            let condition = plain(condition.as_boolean());
            slices = slices[..count].iter().map(|array| filter(array, &condition)).collect::<Result<_, _>>()?;
        }
        accumulator.update_batch(&slices[..count])
    }

    /// Adds a range of rows, whole blocks as their states.
    fn add(&mut self, accumulator: &mut dyn Accumulator, values: &[ArrayRef], rows: Range<usize>) -> Result<()> {
        if rows.len() < MERGED_ROWS_MIN {
            return self.update(accumulator, values, rows);
        }
        let (first, last) = (rows.start.div_ceil(BLOCK_ROWS), rows.end / BLOCK_ROWS);
        let states: Vec<ArrayRef> = self.blocks(values)?.iter().map(|array| array.slice(first, last - first)).collect();
        self.update(accumulator, values, rows.start..first * BLOCK_ROWS)?;
        accumulator.merge_batch(&states)?;
        self.update(accumulator, values, last * BLOCK_ROWS..rows.end)
    }

    /// The states of all whole blocks of the partition.
    fn blocks(&mut self, values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        if let Some(blocks) = &self.blocks {
            return Ok(blocks.clone());
        }
        let row_count = values.first().map_or(0, |array| array.len());
        let mut fields: Vec<Vec<ScalarValue>> = Vec::new();
        for block in 0..row_count / BLOCK_ROWS {
            let mut accumulator = self.accumulator()?;
            self.update(accumulator.as_mut(), values, block * BLOCK_ROWS..(block + 1) * BLOCK_ROWS)?;
            let state = accumulator.state()?;
            fields.resize_with(state.len(), Vec::new);
            fields.iter_mut().zip(state).for_each(|(field, value)| field.push(value));
        }
        let blocks = fields.into_iter().map(ScalarValue::iter_to_array).collect::<Result<Vec<_>>>()?;
        Ok(self.blocks.insert(blocks).clone())
    }

    fn aggregate(&mut self, values: &[ArrayRef], kept: Vec<Range<usize>>) -> Result<ScalarValue> {
        let mut accumulator = self.accumulator()?;
        for rows in kept {
            self.add(accumulator.as_mut(), values, rows)?;
        }
        accumulator.evaluate()
    }

    /// The value of the row at a position, from 1, among the rows that stay; from the last one backwards if it is below
    /// zero.
    fn value_at(&self, values: &[ArrayRef], kept: &[Range<usize>], position: i64) -> Result<ScalarValue> {
        let counts = |row: &usize| !self.function.ignores_nulls || values[0].is_valid(*row);
        let steps = usize::try_from(position.unsigned_abs().saturating_sub(1)).unwrap_or(usize::MAX);
        let rows = kept.iter().cloned().flatten();
        let found = match position {
            0 => None,
            1.. if self.function.ignores_nulls => rows.filter(counts).nth(steps),
            1.. => nth(kept.iter().cloned(), steps),
            _ => kept.iter().rev().cloned().flat_map(Iterator::rev).filter(counts).nth(steps),
        };
        match found {
            Some(row) => ScalarValue::try_from_array(&values[0], row),
            None => ScalarValue::try_from(self.result.data_type()),
        }
    }
}

/// The row at a position, from 0, in ranges.
fn nth(ranges: impl Iterator<Item = Range<usize>>, mut position: usize) -> Option<usize> {
    for range in ranges {
        match range.len() {
            length if position < length => return Some(range.start + position),
            length => position -= length,
        }
    }
    None
}

/// A condition in which NULL is false.
fn plain(condition: &BooleanArray) -> BooleanArray {
    if condition.null_count() == 0 { condition.clone() } else { prep_null_mask_filter(condition) }
}

impl PartitionEvaluator for Evaluator {
    fn evaluate(&mut self, values: &[ArrayRef], frame: &Range<usize>) -> Result<ScalarValue> {
        if self.peers.is_empty() {
            let row_count = values.first().map_or(0, |array| array.len());
            self.peers = match &values[self.fields.len()..] {
                [] => std::iter::once(0..row_count).collect(),
                order => partition(order)?.ranges(),
            };
        }
        while self.peers.get(self.peers_at).is_some_and(|peers| peers.end <= self.row) {
            self.peers_at += 1;
        }
        if self.peers_at >= self.peers.len() {
            return internal_err!("a row behind the end of its partition");
        }
        let kept = self.kept(frame);
        let value = match self.function.inner {
            Inner::Aggregate(_) => self.aggregate(values, kept)?,
            Inner::FirstValue => self.value_at(values, &kept, 1)?,
            Inner::LastValue => self.value_at(values, &kept, -1)?,
            Inner::NthValue => {
                let Some(positions) = values.get(1).and_then(|array| array.as_primitive_opt::<Int64Type>()) else {
                    return exec_err!("the position of nth_value is an integer");
                };
                match positions.is_null(self.row) {
                    true => ScalarValue::try_from(self.result.data_type())?,
                    false => self.value_at(values, &kept, positions.value(self.row))?,
                }
            }
        };
        self.row += 1;
        match value.data_type() == *self.result.data_type() {
            true => Ok(value),
            false => value.cast_to(self.result.data_type()),
        }
    }

    fn uses_window_frame(&self) -> bool {
        true
    }
}
