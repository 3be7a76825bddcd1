//! Rows that exist when a key, a CHECK, a NOT NULL or the length of a text column is added to their table.
//!
//! The batch checks all rows that it sees, and guards them: its commit is refused if another writer has added a chunk
//! that was not checked ([`recheck`](super::recheck)). From the commit on the store refuses every change that was
//! prepared under the older definition, so that no writer adds rows which it has not compared with the key.

use crate::batch::Batch;
use crate::batch::keys::duplicates::DuplicateSearch;
use crate::batch::keys::key::Key;
use crate::batch::keys::keyed_rows::value_text;
use crate::chunk::missing::column_statistics;
use crate::read::scan::{Scan, ScanRequest};
use crate::read::scan_chunk::ScanChunk;
use atsdb_core::{Error, Result, Table, TableDefinition};

impl Batch {
    /// Refuses a definition that this batch gives to a table if rows break a rule that the older one did not have.
    ///
    /// Errors: [`DuplicateKey`](atsdb_core::ErrorKind::DuplicateKey) for a key that two rows have,
    /// [`CheckViolation`](atsdb_core::ErrorKind::CheckViolation) for a CHECK,
    /// [`InvalidValue`](atsdb_core::ErrorKind::InvalidValue) for a NULL or a text that is too long.
    pub(crate) fn check_added_to(&mut self, older: &TableDefinition, table: &Table) -> Result<()> {
        let definition = &table.definition;
        let keys = definition.keys_added_to(older);
        let has_no_check =
            definition.checks_validated_since(older).is_empty() && definition.lengths_added_to(older).is_empty();
        if keys.is_empty() && has_no_check && definition.not_null_added_to(older).is_empty() {
            return Ok(());
        }
        let in_chunks = |error: Error| match definition.is_in_memory() {
            true => error.context("in the rows saved last").with_hint("CHECKPOINT the table first"),
            false => error,
        };
        let snapshot = self.snapshot()?;
        self.guard_keys(table.id)?;
        let scan = Scan::plan(&snapshot, table, &ScanRequest { columns: Vec::new(), ..ScanRequest::all(table) })?;
        scan.chunks().iter().try_for_each(|chunk| refuse_nulls(definition, older, chunk)).map_err(in_chunks)?;
        for position in 0..scan.chunks().len() {
            if let Some(check) = scan.violated_in(position, older)? {
                return Err(in_chunks(definition.violated_check(check)));
            }
        }
        for unique in keys {
            let key = Key::of(definition, unique)?;
            let threads = self.handle.shared.workers.thread_count();
            if let Some((columns, row)) = DuplicateSearch::new(&scan, &key, threads)?.find()? {
                let columns = key.positions.iter().map(|at| &definition.columns[*at]).zip(&columns);
                let values = columns.map(|(column, array)| value_text(table, column, array, row, &snapshot));
                return Err(in_chunks(definition.duplicated_key(unique, &values.collect::<Result<Vec<_>>>()?)));
            }
        }
        Ok(())
    }
}

/// Refuses a chunk with a NULL that an older definition allowed.
pub(crate) fn refuse_nulls(definition: &TableDefinition, older: &TableDefinition, chunk: &ScanChunk) -> Result<()> {
    let columns = definition.not_null_added_to(older);
    match columns.into_iter().find(|column| column_statistics(&chunk.descriptor, column).null_count > 0) {
        Some(column) => Err(definition.contains_null(column)),
        None => Ok(()),
    }
}
