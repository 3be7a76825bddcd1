//! The rows of one thread that pass.

use super::choice::{Choice, GroupChoice};
use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::compute::{filter, filter_record_batch};
use datafusion::common::Result;
use datafusion::common::hash_utils::{RandomState, create_hashes};
use datafusion::physical_plan::aggregates::group_values::GroupValues;
use datafusion::physical_plan::metrics::Count;
use std::sync::Arc;

/// The number of marks for each group. With more marks, fewer rows of other groups are examined twice.
const MARKS_OF_A_GROUP: usize = 64;

/// Drops the rows of one thread that are not of the chosen groups.
pub(super) struct ThreadFilter {
    shared: Arc<GroupChoice>,
    passing: PassingRows,
    rows_dropped: Count,
}

enum PassingRows {
    /// The choice is not made yet.
    Undecided,
    All,
    OfGroups(ThreadGroups),
}

impl ThreadFilter {
    pub(super) fn new(shared: &Arc<GroupChoice>, rows_dropped: Count) -> Self {
        Self { shared: Arc::clone(shared), passing: PassingRows::Undecided, rows_dropped }
    }

    /// The rows of a batch that pass.
    pub(super) fn passing(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        if matches!(self.passing, PassingRows::All) {
            return Ok(batch);
        }
        let keys = self.shared.keys_of(&batch)?;
        if matches!(self.passing, PassingRows::Undecided) {
            match self.shared.after(&keys)? {
                None => return Ok(batch),
                Some(Choice::All) => self.passing = PassingRows::All,
                Some(Choice::OfGroups(chosen)) => {
                    self.passing = PassingRows::OfGroups(ThreadGroups::new(&self.shared, chosen)?);
                }
            }
        }
        let PassingRows::OfGroups(groups) = &mut self.passing else { return Ok(batch) };
        let rows = groups.rows_of(&self.shared, &batch, &keys)?;
        self.rows_dropped.add(batch.num_rows() - rows.num_rows());
        Ok(rows)
    }
}

/// The chosen groups, which one thread looks up.
struct ThreadGroups {
    /// The keys of the groups. Each key is an array with a value for each group.
    keys: Arc<Vec<ArrayRef>>,
    groups: Box<dyn GroupValues>,
    /// The hashes of the groups' keys, in order.
    hashes: Vec<u64>,
    /// A power of two of marks: those to which the lower bits of these hashes point are set.
    marks: Vec<bool>,
    /// The hashes of the keys of a batch's rows.
    row_hashes: Vec<u64>,
}

impl ThreadGroups {
    fn new(shared: &GroupChoice, keys: Arc<Vec<ArrayRef>>) -> Result<Self> {
        let groups = shared.numbered(&keys)?;
        let mut hashes = Vec::new();
        hash_rows(&keys, shared.group_count, &mut hashes)?;
        hashes.sort_unstable();
        let mut marks = vec![false; (hashes.len() * MARKS_OF_A_GROUP).next_power_of_two()];
        let last = marks.len() - 1;
        for hash in &hashes {
            marks[*hash as usize & last] = true;
        }
        Ok(Self { keys, groups, hashes, marks, row_hashes: Vec::new() })
    }

    /// The rows of a batch that are of these groups. `keys` are those of its rows.
    fn rows_of(&mut self, shared: &GroupChoice, batch: &RecordBatch, keys: &[ArrayRef]) -> Result<RecordBatch> {
        hash_rows(keys, batch.num_rows(), &mut self.row_hashes)?;
        let last = self.marks.len() - 1;
        let has_hash = |row: usize| {
            let hash = self.row_hashes[row];
            self.marks[hash as usize & last] && self.hashes.binary_search(&hash).is_ok()
        };
        let with_hash = BooleanArray::new(BooleanBuffer::collect_bool(batch.num_rows(), has_hash), None);
        if with_hash.true_count() == 0 {
            return Ok(batch.slice(0, 0));
        }
        let mut keys_with_hash = Vec::with_capacity(keys.len());
        for key in keys {
            keys_with_hash.push(filter(key, &with_hash)?);
        }
        let rows = filter_record_batch(batch, &with_hash)?;
        let mut numbers = Vec::with_capacity(rows.num_rows());
        self.groups.intern(&keys_with_hash, &mut numbers)?;
        if self.groups.len() == shared.group_count {
            return Ok(rows);
        }
        // Other keys have the hash of a chosen group.
        self.groups = shared.numbered(&self.keys)?;
        let is_chosen = BooleanBuffer::collect_bool(numbers.len(), |row| numbers[row] < shared.group_count);
        Ok(filter_record_batch(&rows, &BooleanArray::new(is_chosen, None))?)
    }
}

/// The hashes of the keys of rows.
fn hash_rows(keys: &[ArrayRef], row_count: usize, hashes: &mut Vec<u64>) -> Result<()> {
    // A NULL may leave the hash unchanged.
    hashes.clear();
    hashes.resize(row_count, 0);
    create_hashes(keys, &RandomState::with_seed(0), hashes)?;
    Ok(())
}
