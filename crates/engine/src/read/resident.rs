//! Reading tables in memory: their rows in this process, or at a table's first use the rows saved as chunks. The crate
//! `resident` owns how they are kept in memory.

use crate::chunk::missing::missing_array;
use crate::read::row_checks::violated_in_memory;
use crate::read::scan::{Scan, ScanRequest};
use crate::read::snapshot::{Inner, ReadSnapshot};
use crate::shared::Shared;
use crate::shared::definitions::has_same_numbers;
use crate::shared::temporary::is_temporary;
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use atsdb_codec::{logical_type, to_logical};
use atsdb_core::parallel::parallel_map;
use atsdb_core::{Column, ConflictPolicy, Error, ErrorKind, Result, Table, TableDefinition, TimeRange};
use atsdb_resident::{TableDraft, TableState};
use std::sync::Arc;

/// The number of chunks that are read before their rows are counted against the memory limit.
const CHUNKS_PER_STEP: usize = 64;

impl ReadSnapshot {
    /// The rows of a table in memory. At its first use in this process the saved rows are loaded: under the definition
    /// that all see, also if a batch has changed it.
    pub fn resident(&self, table: &Table) -> Result<Arc<TableState>> {
        match self.resident_in_use(table)? {
            Some(state) => Ok(state),
            None if is_temporary(table.id) => {
                Ok(self.inner.shared.residents.empty(&table.definition, types_of(&table.definition)))
            }
            None => match self.seen_otherwise(table) {
                Some((seen, own)) => under_other(&self.inner.shared, &seen.resident(own)?, table),
                None => saved_rows(self, table),
            },
        }
    }

    /// The state that a batch has read, and a table there, if the batch itself has given it another definition.
    fn seen_otherwise(&self, table: &Table) -> Option<(&ReadSnapshot, &Table)> {
        let seen = self.inner.seen.as_ref()?;
        let own = seen.table_by_id(table.id)?;
        (own.definition != table.definition).then_some((seen, own))
    }

    /// The rows of a table in memory, if it has been used in this process. Otherwise its rows are those in its chunks,
    /// also if a copy has replaced these since and this process has changed nothing.
    pub fn resident_in_use(&self, table: &Table) -> Result<Option<Arc<TableState>>> {
        self.require(table)?;
        let Inner { shared, residents, .. } = self.inner.as_ref();
        match residents.get(table.id) {
            Some(state) if !has_same_numbers(state.definition(), &table.definition) => {
                // A copy by another process has replaced the table.
                match shared.residents.unload(table.id, &state) {
                    true => Ok(None),
                    false => Err(replaced_by_copy(&table.definition)),
                }
            }
            Some(state) if *state.definition() != table.definition => {
                // Another process has changed the definition. A commit of this process changes the state with it.
                let redefine = || {
                    let redefined = redefined(shared, &state, table);
                    redefined.map_err(|error| in_other_process(error, &table.definition))
                };
                shared.residents.adopt(table.id, &state, &table.definition, redefine).map(Some)
            }
            state => Ok(state),
        }
    }
}

/// Explains a violation of a key, a CHECK or a NOT NULL that another process has added: that process could not check
/// the rows of this one.
fn in_other_process(error: Error, definition: &TableDefinition) -> Error {
    match error.kind() {
        ErrorKind::DuplicateKey
        | ErrorKind::CheckViolation
        | ErrorKind::ForeignKeyViolation
        | ErrorKind::InvalidValue => error
            .context(format_args!(
                "table {} was altered by another process, but rows in this process violate the new definition",
                definition.name
            ))
            .with_hint(
                "undo the change in the other process, or start a new process, which loads the table's saved rows",
            ),
        _ => error,
    }
}

/// The error for rows that this process has changed in a table that a copy has replaced.
fn replaced_by_copy(definition: &TableDefinition) -> Error {
    let name = &definition.name;
    let message = format!("another process has replaced table {name} by a copy, but this process has changed its rows");
    Error::new(ErrorKind::Conflict, message).with_hint("start a new process, which loads the copied rows")
}

pub(crate) fn types_of(definition: &TableDefinition) -> Vec<DataType> {
    definition.columns.iter().map(logical_type).collect()
}

/// The rows of a table in memory under another definition, which is that of `table`.
pub(crate) fn redefined(shared: &Shared, state: &TableState, table: &Table) -> Result<TableState> {
    let definition = &table.definition;
    let added = |column: &Column, row_count: usize| added_values(definition, column, row_count);
    let redefined = state.redefined(definition, types_of(definition), added)?;
    match violated_in_memory(shared, table, state.definition(), &redefined)? {
        Some(check) => Err(definition.violated_check(check)),
        None => Ok(redefined),
    }
}

/// The rows of a table in memory under the definition of `table`, which others do not see.
pub(crate) fn under_other(shared: &Shared, state: &Arc<TableState>, table: &Table) -> Result<Arc<TableState>> {
    shared.residents.under(table.id, state, &table.definition, || redefined(shared, state, table))
}

/// The values of older rows in a column that was added to a table in memory.
pub(crate) fn added_values(definition: &TableDefinition, column: &Column, row_count: usize) -> Result<ArrayRef> {
    to_logical(column, &missing_array(definition, column, row_count)?)
}

/// Loads the saved rows of a table that this process has not used yet.
pub(crate) fn saved_rows(snapshot: &ReadSnapshot, table: &Table) -> Result<Arc<TableState>> {
    let (definition, residents) = (&table.definition, &snapshot.inner.shared.residents);
    let empty = residents.empty(definition, types_of(definition));
    let chunks = snapshot.inner.store.chunks(table.id, TimeRange::ALL)?;
    match chunks.is_empty() {
        true => Ok(empty),
        false => {
            let chunks = chunks.into_iter().map(|chunk| chunk.id).collect();
            residents.begin(table.id, definition, chunks, || read_rows(snapshot, table, empty))
        }
    }
}

fn read_rows(snapshot: &ReadSnapshot, table: &Table, empty: Arc<TableState>) -> Result<Arc<TableState>> {
    let shared = &snapshot.inner.shared;
    let bytes_max = shared.resident_bytes_of(&shared.residents.snapshot(), table);
    let scan = Scan::plan(snapshot, table, &ScanRequest::all(table))?;
    let mut draft = TableDraft::new(empty, bytes_max);
    let positions: Vec<usize> = (0..scan.chunks().len()).collect();
    for positions in positions.chunks(CHUNKS_PER_STEP) {
        let read = parallel_map(shared.workers.thread_count(), positions, |position| scan.read(*position))?;
        for rows in read.into_iter().flatten() {
            draft.append(rows.columns().to_vec(), rows.num_rows(), ConflictPolicy::Error).map_err(in_loading)?;
        }
    }
    draft.settle().map_err(in_loading)?;
    Ok(Arc::clone(draft.working()))
}

fn in_loading(error: Error) -> Error {
    error.context("loading the saved rows")
}
