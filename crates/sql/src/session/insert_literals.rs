//! `INSERT`s of literals. In a transaction their rows are collected over many statements, with a separate run for each
//! form of statement, until another operation needs to see them.

use super::open_transaction::{Transaction, usable};
use super::state::Session;
use crate::run::interrupt::Interrupt;
use crate::text::params::Parameters;
use crate::write::insert_run::{InsertRun, PushOutcome};
use atsdb_core::{Result, SearchPath};
use std::sync::atomic::Ordering;

/// The maximum text of waiting statements in bytes, for all forms together.
const TEXT_BYTES_MAX: usize = 32 << 20;

impl Session {
    /// Inserts literals and returns the number of rows; `None` if it is another statement.
    pub(super) fn insert_literals(&self, text: &str, parameters: &Parameters) -> Result<Option<u64>> {
        if let Some(open) = self.transaction.lock().as_mut() {
            return insert_in_transaction(open, text, parameters, &self.search_path(), &self.interrupt);
        }
        let Some(mut run) = InsertRun::begin(text, parameters, &self.search_path(), || self.tables())? else {
            return Ok(None);
        };
        let mut batch = self.batch();
        let row_count = match run.push(text, parameters, &self.interrupt, &mut batch)? {
            PushOutcome::Rows(row_count) => row_count,
            PushOutcome::NotPlain => return Ok(None),
            PushOutcome::Refused(error) => return Err(error),
        };
        run.flush(&mut batch)?;
        let skipped_rows = batch.skipped_rows();
        batch.commit()?;
        Ok(Some(row_count.saturating_sub(skipped_rows.load(Ordering::Relaxed))))
    }
}

fn insert_in_transaction(
    open: &mut Transaction,
    text: &str,
    parameters: &Parameters,
    path: &SearchPath,
    interrupt: &Interrupt,
) -> Result<Option<u64>> {
    if !open.runs.choose(text) {
        let tables = || usable(open)?.tables();
        let Some(run) = InsertRun::begin(text, parameters, path, tables)? else { return Ok(None) };
        // From here on, an error leaves the work half done.
        open.failed = true;
        open.runs.begin(run, &mut open.batch)?;
        open.failed = false;
    }
    usable(open)?;
    let Some(run) = open.runs.0.first_mut() else { return Ok(None) };
    let pushed = run.push(text, parameters, interrupt, &mut open.batch);
    open.failed = pushed.is_err();
    let pushed = pushed?;
    let is_long = open.runs.0.iter().map(InsertRun::text_bytes).sum::<usize>() > TEXT_BYTES_MAX;
    match pushed {
        PushOutcome::Rows(row_count) => {
            if is_long {
                let flushed = open.runs.flush(&mut open.batch);
                open.failed = flushed.is_err();
                flushed?;
            }
            Ok(Some(row_count))
        }
        PushOutcome::NotPlain => {
            open.runs.0.remove(0);
            Ok(None)
        }
        PushOutcome::Refused(error) => {
            open.runs.0.remove(0);
            Err(error)
        }
    }
}
