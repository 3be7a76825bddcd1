//! The groups of rows, and the measures of each group.

use super::key::{GroupKey, KeyBounds, Packing, RowPositions};
use super::keyed::{KeySlice, KeyedGroups};
use super::measure::{Measure, MeasureState, Measured, add_counts, count_rows};
use super::runs::{Runs, Spans};
use super::set_aside::{GroupPartition, HELD_GROUPS_MAX};
use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter_record_batch;
use arrow::datatypes::Schema;
use atsdb_core::{Error, Result};

/// The number of rows that are processed at a time. The data about runs then stays in the processor's cache, even if
/// each row is a separate run.
const WINDOW_ROWS: usize = 16_384;

/// The number of rows after which it is decided anew whether runs are short.
const DECISION_ROWS: usize = 2 * WINDOW_ROWS;

/// The number of rows that decide it. If runs are short, little time is lost on cutting so few rows.
const FIRST_ROWS: usize = 1_024;

/// The minimum average number of rows in a run. If runs are shorter, each row is looked up separately, since cutting
/// runs would cost more.
const RUN_ROWS_MIN: usize = 4;

/// Groups of rows, and the measures of each group. Groups of several threads can be merged.
#[derive(Debug, Clone)]
pub struct Groups {
    pub(super) packing: Packing,
    pub(super) measures: Vec<Measure>,
    pub(super) keyed: KeyedGroups,
    pub(super) states: Vec<MeasureState>,
    /// The number of rows of each group.
    pub(super) row_counts: Vec<u64>,
    /// The groups that were set aside, by partition; empty if there are none.
    pub(super) set_aside: Vec<GroupPartition>,
    /// The number of groups that were set aside when they were merged last or, if they never were, when some were set
    /// aside first; 0 before that.
    pub(super) merged_count: usize,
    /// The number of groups from which on they are set aside.
    pub(super) held_max: usize,
    /// The number of runs, or of rows, that were added since groups were set aside last.
    pub(super) span_count: usize,
    runs: Runs,
    /// The group of each run, or of each row, of the current window.
    span_groups: Vec<u32>,
}

impl Groups {
    /// Creates empty groups over batches of a schema. Without keys all rows are one group. `None` if a key or measure
    /// has a type that is not supported.
    ///
    /// `bounds` returns the known bounds of a key column, by its position. They shorten the packed keys, and short keys
    /// are looked up faster.
    pub fn new(
        schema: &Schema,
        keys: &[GroupKey],
        measures: &[Measure],
        bounds: impl Fn(usize) -> Option<KeyBounds>,
    ) -> Option<Self> {
        let packing = Packing::new(schema, keys, bounds)?;
        let states = measures.iter().map(|measure| MeasureState::new(schema, measure)).collect::<Option<_>>()?;
        Some(Self {
            keyed: KeyedGroups::new(&packing),
            packing,
            measures: measures.to_vec(),
            states,
            row_counts: Vec::new(),
            set_aside: Vec::new(),
            merged_count: 0,
            held_max: HELD_GROUPS_MAX,
            span_count: 0,
            runs: Runs::default(),
            span_groups: Vec::new(),
        })
    }

    /// Adds the rows of a batch, which must have the schema that was passed to [`new`](Self::new).
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        self.add_selected(batch, None)
    }

    /// Adds the rows of a batch for which `mask` is set. Selected rows are often adjacent, and then they are not
    /// copied.
    pub(crate) fn add_selected(&mut self, batch: &RecordBatch, mask: Option<&BooleanBuffer>) -> Result<()> {
        let (mut start, mut by_row) = (0, false);
        while start < batch.num_rows() {
            let decided = start % DECISION_ROWS;
            let rows_max = if decided == 0 { FIRST_ROWS } else { WINDOW_ROWS.min(DECISION_ROWS - decided) };
            let length = rows_max.min(batch.num_rows() - start);
            let window = batch.slice(start, length);
            let mask = mask.map(|mask| mask.slice(start, length));
            if by_row && decided > 0 {
                let window = match mask {
                    Some(mask) => filter_record_batch(&window, &BooleanArray::new(mask, None))?,
                    None => window,
                };
                self.keyed.groups(&self.packing, &window, RowPositions::All, &mut self.span_groups)?;
                self.add_spans(&window, Spans::Rows);
            } else {
                let mut runs = std::mem::take(&mut self.runs);
                runs.cut(&self.packing, &window, mask.as_ref());
                self.keyed.groups(&self.packing, &window, RowPositions::At(runs.starts()), &mut self.span_groups)?;
                self.add_spans(&window, Spans::Runs(&runs));
                // The rows that follow usually have runs of the same length.
                by_row = self.span_groups.len() * RUN_ROWS_MIN > runs.row_count();
                self.runs = runs;
            }
            start += length;
        }
        Ok(())
    }

    /// Adds the values of spans to the groups found for them.
    fn add_spans(&mut self, window: &RecordBatch, spans: Spans<'_>) {
        self.span_count += self.span_groups.len();
        self.resize();
        for (measure, state) in self.measures.iter().zip(&mut self.states) {
            state.add(window.columns(), measure.column, spans, &self.span_groups, &self.row_counts);
        }
        if !self.states.is_empty() {
            count_rows(spans, &self.span_groups, &mut self.row_counts);
        }
    }

    /// Makes room for the measures of all groups.
    pub(super) fn resize(&mut self) {
        let group_count = self.keyed.len();
        self.row_counts.resize(group_count, 0);
        self.states.iter_mut().for_each(|state| state.resize(group_count));
    }

    /// Adds the groups of another part of the same rows. The result of floating-point sums depends on the order in
    /// which parts are merged.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if !other.set_aside.is_empty() {
            return Err(Error::internal("groups that were set aside are merged without their partitions"));
        }
        self.merge_states(other.keyed.keys(), &other.states, &other.row_counts)
    }

    /// Adds groups: their keys, the states of each measure, and the numbers of their rows.
    pub(super) fn merge_states(
        &mut self,
        keys: KeySlice<'_>,
        states: &[MeasureState],
        row_counts: &[u64],
    ) -> Result<()> {
        self.keyed.groups_of(keys, &mut self.span_groups)?;
        self.resize();
        for (state, from) in self.states.iter_mut().zip(states) {
            state.merge(from, &self.span_groups, &self.row_counts, row_counts);
        }
        add_counts(&mut self.row_counts, row_counts, &self.span_groups);
        Ok(())
    }

    /// Frees the memory that is needed only for adding rows. No more rows can be added.
    pub fn close(&mut self) {
        self.keyed.close();
        self.runs = Runs::default();
        self.span_groups = Vec::new();
    }

    /// Creates the single group of an aggregate without keys, which exists even if there are no rows.
    pub fn ensure_one(&mut self) -> Result<()> {
        self.keyed.constant_group(&self.packing, |_| None)?;
        self.resize();
        Ok(())
    }

    /// The number of groups, without those that were [set aside](Self::set_aside_many).
    pub fn len(&self) -> usize {
        self.keyed.len()
    }

    /// Returns whether there are no groups.
    pub fn is_empty(&self) -> bool {
        self.keyed.len() == 0
    }

    /// The size of the groups in memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let states: usize = self.states.iter().map(MeasureState::memory_bytes).sum();
        let spans = self.runs.memory_bytes() + self.span_groups.capacity() * size_of::<u32>();
        let set_aside: usize = self.set_aside.iter().map(GroupPartition::memory_bytes).sum();
        self.keyed.memory_bytes() + states + self.row_counts.capacity() * size_of::<u64>() + spans + set_aside
    }

    /// The keys of some of the groups, one array for each key.
    pub fn keys(&self, groups: std::ops::Range<usize>) -> Result<Vec<ArrayRef>> {
        self.keyed.unpack(&self.packing, groups)
    }

    /// The results for some of the groups.
    pub fn measured(&self, measure: usize, groups: std::ops::Range<usize>) -> Measured<'_> {
        self.states[measure].measured(groups, &self.row_counts)
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::MeasureKind;
    use super::*;
    use arrow::array::Int32Array;
    use arrow::datatypes::{DataType, Field};
    use std::sync::Arc;

    #[test]
    fn long_runs_after_short_ones_are_cut_again() {
        let schema = Arc::new(Schema::new(vec![Field::new("key", DataType::Int32, false)]));
        let keys: Int32Array = (0..100_000).map(|row| if row < 30_000 { row % 3 } else { 7 }).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(keys)]).unwrap();
        let measures = [Measure { kind: MeasureKind::CountRows, column: 0 }];
        let mut groups = Groups::new(&schema, &[GroupKey::Values { column: 0 }], &measures, |_| None).unwrap();
        groups.add(&batch).unwrap();
        assert_eq!(groups.span_groups.len(), 1, "the last rows have one key");
        let mut row_counts = groups.row_counts.clone();
        row_counts.sort_unstable();
        assert_eq!(row_counts, [10_000, 10_000, 10_000, 70_000]);
    }
}
