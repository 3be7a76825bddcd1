//! `INSERT`s of literals. In a transaction their rows are collected over many statements, with a separate run for each
//! form of statement, until another operation needs to see them.

use super::open_transaction::{Transaction, usable};
use super::state::Session;
use crate::run::interrupt::Interrupt;
use crate::write::insert_run::{InsertRun, PushOutcome};
use atsdb_core::{Error, ErrorKind, Result, SearchPath, Table};
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::table_names::{NamedSchema, TableName};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The maximum text of waiting statements in bytes, for all forms together.
const TEXT_BYTES_MAX: usize = 32 << 20;

impl Session {
    /// Inserts literals and returns the number of rows; `None` if it is another statement.
    pub(super) fn insert_literals(&self, text: &str, parameters: &Parameters) -> Result<Option<u64>> {
        if let Some(open) = self.transaction.lock().as_mut() {
            return insert_in_transaction(open, text, parameters, &self.search_path(), &self.interrupt);
        }
        let path = self.search_path();
        let mut seen = None;
        let run = InsertRun::begin(text, parameters, &path, |name| {
            seen = self.table_seen(name, &path);
            match &seen {
                Some(table) => Ok(Candidates::Seen(Arc::clone(table))),
                None => self.tables().map(Candidates::All),
            }
        });
        let inserted = self.insert_run(run, text, parameters, seen.is_some());
        let may_be_outdated = |error: &Error| match error.kind() {
            ErrorKind::Conflict => true,
            kind => seen.is_some() && kind != ErrorKind::Interrupted,
        };
        match inserted {
            // The error may be due to a definition that is out of date.
            Err((error, MayBeStored(false))) if may_be_outdated(&error) => {
                if let Some(seen) = &seen {
                    self.engine.forget_seen(seen);
                }
                // Rows that were refused with a conflict are not stored.
                self.retried(|| {
                    let run = InsertRun::begin(text, parameters, &path, |_| self.tables());
                    self.insert_run(run, text, parameters, false).map_err(|(error, _)| error)
                })
            }
            inserted => inserted.map_err(|(error, _)| error),
        }
    }

    /// The table that a name means, as this process has seen it last. The commit compares the definition's version, so
    /// that a statement need not ask the store for it. `None` for what is not checked like that: tables in memory,
    /// views, sequences and tables that take numbers of them, names of temporary tables, and names that several schemas
    /// may have.
    fn table_seen(&self, name: &TableName, path: &SearchPath) -> Option<Arc<Table>> {
        let schema = match &name.schema {
            NamedSchema::Unsaid if path.is_public() && self.temporary.is_empty() => None,
            NamedSchema::Unsaid | NamedSchema::Temporary => return None,
            NamedSchema::Public => None,
            NamedSchema::Other(schema) => Some(schema.as_str()),
        };
        let table = self.engine.table_seen(schema, &name.name)?;
        let definition = &table.definition;
        let is_derived = definition.view.is_some() || definition.materialized.is_some();
        let is_stored = !definition.is_in_memory() && !is_derived && !definition.sequence;
        // A sequence is looked up in the store, and must not give numbers for a default that is gone.
        let has_sequence = definition.columns.iter().any(|column| column.sequence.is_some());
        (is_stored && !has_sequence).then_some(table)
    }

    /// Inserts the rows of a statement in a batch of its own. With `pins`, a definition that has changed is a conflict.
    fn insert_run(
        &self,
        run: Result<Option<InsertRun>>,
        text: &str,
        parameters: &Parameters,
        pins: bool,
    ) -> Result<Option<u64>, (Error, MayBeStored)> {
        let unstored = |error: Error| (error, MayBeStored(false));
        let Some(mut run) = run.map_err(unstored)? else { return Ok(None) };
        let mut batch = self.batch();
        if pins {
            batch.pin_definitions();
        }
        let row_count = match run.push(text, parameters, &self.interrupt, &mut batch).map_err(unstored)? {
            PushOutcome::Rows(row_count) => row_count,
            PushOutcome::NotPlain => return Ok(None),
            PushOutcome::Refused(error) => return Err(unstored(error)),
        };
        run.flush(&mut batch).map_err(unstored)?;
        let skipped_rows = batch.skipped_rows();
        batch.commit().map_err(|error| {
            let is_refused = matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound);
            (error, MayBeStored(!is_refused))
        })?;
        Ok(Some(row_count.saturating_sub(skipped_rows.load(Ordering::Relaxed))))
    }
}

/// The tables among which a statement's table is looked up by its name.
enum Candidates {
    Seen(Arc<Table>),
    All(Vec<Table>),
}

impl AsRef<[Table]> for Candidates {
    fn as_ref(&self) -> &[Table] {
        match self {
            Self::Seen(table) => std::slice::from_ref(&**table),
            Self::All(tables) => tables,
        }
    }
}

/// Whether a statement that failed may nevertheless have stored its rows, or was refused because of its rows.
struct MayBeStored(bool);

fn insert_in_transaction(
    open: &mut Transaction,
    text: &str,
    parameters: &Parameters,
    path: &SearchPath,
    interrupt: &Interrupt,
) -> Result<Option<u64>> {
    if !open.runs.choose(text) {
        let tables = |_: &TableName| usable(open)?.tables();
        let Some(run) = InsertRun::begin(text, parameters, path, tables)? else { return Ok(None) };
        // From here on, an error leaves the work half done.
        open.failed = true;
        open.runs.begin(run, &mut open.batch)?;
        open.failed = false;
    }
    usable(open)?;
    let flushed = open.runs.flush_parents(&mut open.batch);
    open.failed = flushed.is_err();
    flushed?;
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
