//! The runs of `INSERT`s of literals in a transaction, whose rows are not in its batch yet.

use crate::write::insert_run::InsertRun;
use atsdb_core::Result;
use atsdb_engine::Batch;

/// The maximum number of forms of statements that are collected at the same time.
const RUNS_MAX: usize = 8;

/// The runs of a transaction, the latest first.
#[derive(Default)]
pub(super) struct InsertRuns(pub(super) Vec<InsertRun>);

impl InsertRuns {
    /// Passes all waiting rows to the batch.
    pub(super) fn flush(&mut self, batch: &mut Batch) -> Result<()> {
        self.0.iter_mut().try_for_each(|run| run.flush(batch))
    }

    /// Passes all waiting rows to the batch if the rows of the first run may refer to them.
    pub(super) fn flush_parents(&mut self, batch: &mut Batch) -> Result<()> {
        let may_refer = self.0.first().is_some_and(|run| !run.table().definition.foreign_keys.is_empty());
        if may_refer { self.flush(batch) } else { Ok(()) }
    }

    /// Passes all waiting rows to the batch, and ends the runs. They know tables and keys, which the next operation of
    /// the batch may change.
    pub(super) fn close(&mut self, batch: &mut Batch) -> Result<()> {
        self.0.drain(..).try_for_each(|mut run| run.flush(batch))
    }

    /// Moves the run for a statement to the front. Returns whether there is one.
    pub(super) fn choose(&mut self, text: &str) -> bool {
        match self.0.iter().position(|run| run.takes(text)) {
            Some(at) => self.0[..=at].rotate_right(1),
            None => return false,
        }
        true
    }

    /// Begins a run. Waiting rows of the same table are passed to the batch first, because they came earlier.
    pub(super) fn begin(&mut self, mut run: InsertRun, batch: &mut Batch) -> Result<()> {
        let mut index = None;
        if let Some(at) = self.0.iter().position(|other| other.is_into(run.table())) {
            let mut other = self.0.remove(at);
            other.flush(batch)?;
            index = other.into_index();
        }
        if self.0.len() >= RUNS_MAX
            && let Some(mut oldest) = self.0.pop()
        {
            oldest.flush(batch)?;
        }
        run.keep_on(batch, index)?;
        self.0.insert(0, run);
        Ok(())
    }
}
