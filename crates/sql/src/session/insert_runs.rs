//! The runs of `INSERT`s of literals in a transaction, whose rows are on their way into its batch.

use crate::write::insert_run::InsertRun;
use atsdb_core::Result;
use atsdb_engine::Batch;

/// Forms of statements that gather at the same time.
const RUNS_MAX: usize = 8;

/// The runs of a transaction, the latest first.
#[derive(Default)]
pub(super) struct InsertRuns(pub(super) Vec<InsertRun>);

impl InsertRuns {
    /// Hands all rows that wait to the batch.
    pub(super) fn flush(&mut self, batch: &mut Batch) -> Result<()> {
        self.0.iter_mut().try_for_each(|run| run.flush(batch))
    }

    /// The same, and forgets what the batch's next work may make wrong: tables, and the keys that they have.
    pub(super) fn close(&mut self, batch: &mut Batch) -> Result<()> {
        self.0.drain(..).try_for_each(|mut run| run.flush(batch))
    }

    /// Brings the run that takes a statement to the front.
    pub(super) fn choose(&mut self, text: &str) -> bool {
        match self.0.iter().position(|run| run.takes(text)) {
            Some(at) => self.0[..=at].rotate_right(1),
            None => return false,
        }
        true
    }

    /// Begins a run. What waits of the same table goes on to the batch first, as its rows came earlier.
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
