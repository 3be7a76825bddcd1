//! The groups of rows, and the measures of each group.

use super::key::{GroupKey, Packing};
use super::measure::{Measure, Measured, State};
use super::runs::Runs;
use super::table::GroupTable;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::Schema;
use atsdb_core::Result;

/// The number of rows that are processed at a time. The data about runs then stays in the processor's cache, even if
/// each row is a separate run.
const WINDOW_ROWS: usize = 16_384;

/// Groups of rows, with the measures of each group. Groups of several threads can be merged.
#[derive(Debug)]
pub struct Groups {
    pub(super) packing: Packing,
    pub(super) measures: Vec<Measure>,
    pub(super) table: GroupTable,
    pub(super) states: Vec<State>,
    runs: Runs,
    /// The packed key of each run of the batch at hand, and its group.
    run_keys: Vec<u128>,
    run_groups: Vec<u32>,
}

impl Groups {
    /// No groups yet, over batches of a schema. Without keys all rows are one group. `None` if the keys or measures are
    /// of other types than these groups work on.
    pub fn new(schema: &Schema, keys: &[GroupKey], measures: &[Measure]) -> Option<Self> {
        let packing = Packing::new(schema, keys)?;
        let states = measures.iter().map(|measure| State::new(schema, measure)).collect::<Option<_>>()?;
        Some(Self {
            packing,
            measures: measures.to_vec(),
            table: GroupTable::default(),
            states,
            runs: Runs::default(),
            run_keys: Vec::new(),
            run_groups: Vec::new(),
        })
    }

    /// Adds the rows of a batch, which has the schema that was named.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        for start in (0..batch.num_rows()).step_by(WINDOW_ROWS) {
            self.add_window(&batch.slice(start, WINDOW_ROWS.min(batch.num_rows() - start)))?;
        }
        Ok(())
    }

    fn add_window(&mut self, batch: &RecordBatch) -> Result<()> {
        self.runs.cut(&self.packing, batch);
        self.run_groups.clear();
        self.packing.pack(batch, self.runs.starts(), &mut self.run_keys)?;
        for key in &self.run_keys {
            self.run_groups.push(self.table.group(*key)?);
        }
        let group_count = self.table.len();
        for (measure, state) in self.measures.iter().zip(&mut self.states) {
            state.resize(group_count);
            state.add(batch.columns().get(measure.column), &self.runs, &self.run_groups);
        }
        Ok(())
    }

    /// Adds the groups of another part of the same rows. The result of floating-point sums depends on the order in
    /// which parts are merged.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.run_groups.clear();
        for key in other.table.keys() {
            self.run_groups.push(self.table.group(*key)?);
        }
        for (state, from) in self.states.iter_mut().zip(&other.states) {
            state.resize(self.table.len());
            state.merge(from, &self.run_groups);
        }
        Ok(())
    }

    /// Creates the single group of an aggregate without keys, which exists even if there are no rows.
    pub fn ensure_one(&mut self) -> Result<()> {
        self.table.group(0)?;
        self.states.iter_mut().for_each(|state| state.resize(self.table.len()));
        Ok(())
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.table.len() == 0
    }

    /// The memory they take, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let states: usize = self.states.iter().map(State::memory_bytes).sum();
        let keys = self.run_keys.capacity() * size_of::<u128>() + self.run_groups.capacity() * size_of::<u32>();
        self.table.memory_bytes() + states + self.runs.memory_bytes() + keys
    }

    /// The keys of some of the groups, one array for each key.
    pub fn keys(&self, groups: std::ops::Range<usize>) -> Result<Vec<ArrayRef>> {
        Ok(self.packing.unpack(&self.table.keys()[groups])?)
    }

    /// The results for some of the groups.
    pub fn measured(&self, measure: usize, groups: std::ops::Range<usize>) -> Measured<'_> {
        self.states[measure].measured(groups)
    }
}
