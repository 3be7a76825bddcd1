//! The rows of tables in memory, for reading: those that this process has, or at a table's first use those that were saved
//! as chunks. How they are kept in memory is `resident`'s.

use crate::read::scan::{Scan, ScanRequest};
use crate::read::snapshot::{Inner, ReadSnapshot};
use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use atsdb_codec::logical_type;
use atsdb_core::{ConflictPolicy, Error, Result, Table, TableDefinition, TimeRange};
use atsdb_resident::{Draft, TableState};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Chunks that are read before their rows are counted against the bound.
const CHUNKS_AT_ONCE: usize = 64;

impl ReadSnapshot {
    /// The rows of a table in memory. At its first use in a process they are those that were saved, and are read now.
    pub fn resident(&self, table: &Table) -> Result<Arc<TableState>> {
        match self.resident_in_use(table)? {
            Some(state) => Ok(state),
            None => saved_rows(self, table),
        }
    }

    /// The same, if the table has been used in this process; else its rows are those in its chunks.
    pub fn resident_in_use(&self, table: &Table) -> Result<Option<Arc<TableState>>> {
        self.require(table)?;
        let Inner { shared, residents, .. } = self.inner.as_ref();
        match residents.get(table.id) {
            Some(state) if *state.definition() != table.definition => {
                // Another process has given it a newer definition: this process' own commits change both at once.
                let redefine = || state.redefined(&table.definition, types_of(&table.definition));
                shared.residents.adopt(table.id, &state, &table.definition, redefine).map(Some)
            }
            state => Ok(state),
        }
    }
}

pub(crate) fn types_of(definition: &TableDefinition) -> Vec<DataType> {
    definition.columns.iter().map(logical_type).collect()
}

/// The rows that the store has of a table that this process has not used yet.
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
    let mut draft = Draft::new(empty, bytes_max);
    for start in (0..scan.chunks().len()).step_by(CHUNKS_AT_ONCE) {
        let end = (start + CHUNKS_AT_ONCE).min(scan.chunks().len());
        for rows in read_chunks(&scan, start..end, shared.workers.thread_count())? {
            draft.append(rows.columns().to_vec(), rows.num_rows(), ConflictPolicy::Error).map_err(when_reading)?;
        }
    }
    draft.settle().map_err(when_reading)?;
    Ok(Arc::clone(draft.working()))
}

fn when_reading(error: Error) -> Error {
    error.context("reading the rows that were saved")
}

/// The rows of some chunks, in order, decoded by several threads.
fn read_chunks(scan: &Scan, chunks: Range<usize>, threads: usize) -> Result<Vec<RecordBatch>> {
    let next = AtomicUsize::new(chunks.start);
    let work = || {
        let mut read = Vec::new();
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            if position >= chunks.end {
                return Ok(read);
            }
            read.extend(scan.read(position)?.map(|rows| (position, rows)));
        }
    };
    let read: Vec<Result<Vec<(usize, RecordBatch)>>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(chunks.len())).map(|_| scope.spawn(work)).collect();
        let own = work();
        let joined = others
            .into_iter()
            .map(|other| other.join().unwrap_or_else(|_| Err(Error::internal("reading a chunk panicked"))));
        std::iter::once(own).chain(joined).collect()
    });
    let mut read: Vec<(usize, RecordBatch)> =
        read.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    read.sort_by_key(|(position, _)| *position);
    Ok(read.into_iter().map(|(_, rows)| rows).collect())
}
