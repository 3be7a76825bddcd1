//! `INSERT`s of literals: in a transaction their rows gather over many statements, each form of statement in a run of
//! its own, until something else wants to see them.

use super::Session;
use super::transaction::{Transaction, usable};
use crate::insert_run::{InsertRun, Pushed};
use crate::runtime::Interrupt;
use atsdb_core::Result;
use atsdb_engine::Batch;
use std::sync::atomic::Ordering;

/// Forms of statements that gather at the same time.
const RUNS_MAX: usize = 8;
/// Text of statements that waits, of all forms together.
const TEXT_BYTES_MAX: usize = 32 << 20;

/// The runs of a transaction, the latest first.
#[derive(Default)]
pub(super) struct InsertRuns(Vec<InsertRun>);

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
    fn choose(&mut self, text: &str) -> bool {
        match self.0.iter().position(|run| run.takes(text)) {
            Some(at) => self.0[..=at].rotate_right(1),
            None => return false,
        }
        true
    }

    /// Begins a run. What waits of the same table goes on to the batch first, as its rows came earlier.
    fn begin(&mut self, mut run: InsertRun, batch: &mut Batch) -> Result<()> {
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

impl Session {
    /// Inserts literals and says how many rows came; `None` if the statement is another one.
    pub(super) fn insert_literals(&self, text: &str, params: &[(String, String)]) -> Result<Option<u64>> {
        if let Some(open) = self.transaction().as_mut() {
            return insert_in_transaction(open, text, params, &self.interrupt);
        }
        let Some(mut run) = InsertRun::begin(text, params, || self.engine.tables())? else { return Ok(None) };
        let mut batch = self.engine.batch(None);
        let row_count = match run.push(text, params, &self.interrupt, &mut batch)? {
            Pushed::Rows(row_count) => row_count,
            Pushed::NotPlain => return Ok(None),
            Pushed::Refused(error) => return Err(error),
        };
        run.flush(&mut batch)?;
        let kept_out = batch.skipped_rows();
        batch.commit()?;
        Ok(Some(row_count.saturating_sub(kept_out.load(Ordering::Relaxed))))
    }
}

fn insert_in_transaction(
    open: &mut Transaction,
    text: &str,
    params: &[(String, String)],
    interrupt: &Interrupt,
) -> Result<Option<u64>> {
    if !open.runs.choose(text) {
        let tables = || usable(open)?.tables();
        let Some(run) = InsertRun::begin(text, params, tables)? else { return Ok(None) };
        // From here on an error leaves work half done.
        open.failed = true;
        open.runs.begin(run, &mut open.batch)?;
        open.failed = false;
    }
    usable(open)?;
    let Some(run) = open.runs.0.first_mut() else { return Ok(None) };
    let pushed = run.push(text, params, interrupt, &mut open.batch);
    open.failed = pushed.is_err();
    let pushed = pushed?;
    let is_long = open.runs.0.iter().map(InsertRun::text_bytes).sum::<usize>() > TEXT_BYTES_MAX;
    match pushed {
        Pushed::Rows(row_count) => {
            if is_long {
                let flushed = open.runs.flush(&mut open.batch);
                open.failed = flushed.is_err();
                flushed?;
            }
            Ok(Some(row_count))
        }
        Pushed::NotPlain => {
            open.runs.0.remove(0);
            Ok(None)
        }
        Pushed::Refused(error) => {
            open.runs.0.remove(0);
            Err(error)
        }
    }
}
