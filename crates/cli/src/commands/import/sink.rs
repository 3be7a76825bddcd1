//! The batch for an import's rows.

use super::declared::DeclaredTable;
use super::repeated::batch_ids;
use crate::console::interrupt;
use arrow::record_batch::RecordBatch;
use atsdb::{Batch, BatchId, CommitOutcome, Engine, Error, ErrorKind, Result, Table, TableDefinition};
use std::sync::atomic::Ordering;

/// The id of the batch, so that it is stored once.
pub(super) enum BatchName {
    /// The batch has no id, and is stored each time.
    None,
    /// The id that the user gave.
    Given(BatchId),
    /// An id that follows from the contents of the imported files, which have these hashes.
    OfFiles(Vec<u128>),
}

/// The numbers of imported rows whose key another row has, by what was done.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeyConflicts {
    /// New rows that were skipped.
    pub(super) skipped_rows: u64,
    /// Rows that were replaced by a later row.
    pub(super) replaced_rows: u64,
}

/// One batch of the engine, which is restarted whenever the importer changes its plan for the table.
pub(super) struct BatchSink<'a> {
    engine: &'a Engine,
    existing: Option<Table>,
    declared: &'a DeclaredTable,
    name: BatchName,
    open: Option<(Batch, Table)>,
}

impl<'a> BatchSink<'a> {
    /// Receives rows for an existing table, or for one that the batch creates.
    pub(super) fn new(
        engine: &'a Engine,
        existing: Option<Table>,
        declared: &'a DeclaredTable,
        name: BatchName,
    ) -> Self {
        Self { engine, existing, declared, name, open: None }
    }

    /// Makes everything visible at once. Rows of a table in memory are saved by the same commit.
    pub(super) fn commit(&mut self) -> Result<(CommitOutcome, KeyConflicts)> {
        interrupt::check()?;
        let counts = self.open.as_ref().map(|(batch, _)| (batch.skipped_rows(), batch.replaced_rows()));
        let (batch, table) = self.open.take().ok_or_else(|| Error::internal("the importer began no table"))?;
        let outcome = self.engine.commit_saved(batch, &table).map_err(created_meanwhile)?;
        let conflicts = counts.map_or(KeyConflicts::default(), |(skipped, replaced)| KeyConflicts {
            skipped_rows: skipped.load(Ordering::Relaxed),
            replaced_rows: replaced.load(Ordering::Relaxed),
        });
        Ok((outcome, conflicts))
    }
}

impl atsdb_import::Sink for BatchSink<'_> {
    fn begin(&mut self, definition: &TableDefinition) -> Result<()> {
        // Dropping the batch discards its stage.
        self.open = None;
        let id = if let BatchName::Given(id) = &self.name { Some(id.clone()) } else { None };
        let mut batch = self.engine.batch(id);
        let table = match &self.existing {
            Some(table) => table.clone(),
            None => {
                let definition = self.engine.placed(&self.declared.apply(definition)?)?;
                batch.create_table(&definition).map_err(created_meanwhile)?
            }
        };
        if let BatchName::OfFiles(hashes) = &self.name {
            let (id, parts) = batch_ids(hashes, table.id)?;
            batch.set_id(id);
            batch.set_parts(parts);
        }
        self.open = Some((batch, table));
        Ok(())
    }

    fn rows(&mut self, rows: RecordBatch) -> Result<()> {
        interrupt::check()?;
        match &mut self.open {
            Some((batch, table)) => {
                batch.append(table, &rows).map_err(|error| with_flag(error, self.existing.is_some()))
            }
            None => Err(Error::internal("the importer gave rows before a table")),
        }
    }
}

/// The table did not exist when the import began. If it does now, the same command adds the rows to it.
fn created_meanwhile(error: Error) -> Error {
    if error.kind() != ErrorKind::Exists {
        return error;
    }
    error.with_hint("another program created it during this import: run the command again to add the rows to it")
}

/// A full dictionary, with the flag of the import that declares a wider one instead of the SQL.
fn with_flag(error: Error, is_existing: bool) -> Error {
    let sql = error.hint().and_then(|hint| hint.strip_prefix("declare it wider: map = '")?.strip_suffix('\''));
    match sql.map(str::to_owned) {
        Some(map) if is_existing => error.with_hint(format!("import into a new table, with --map {map}")),
        Some(map) => error.with_hint(format!("declare it wider: --map {map}")),
        None => error,
    }
}

/// Accepts no rows, because only the detected table is needed.
pub(super) struct DiscardRows;

impl atsdb_import::Sink for DiscardRows {
    fn begin(&mut self, _definition: &TableDefinition) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, _rows: RecordBatch) -> Result<()> {
        Ok(())
    }
}
