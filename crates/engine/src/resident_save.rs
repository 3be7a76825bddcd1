//! Saved rows: tables in memory keep their rows in the store on request, as ordinary chunks of theirs.
//!
//! Owned here: rows into chunks, and chunks into rows at a table's first use in a process. The chunks are read whole, by
//! nobody else but `seal`, `verify` and copies; nothing that a process does to its rows touches them but saving again.

use crate::batch::Batch;
use crate::engine::Engine;
use crate::preload::of_its_own;
use crate::resident::types_of;
use crate::scan::{Scan, ScanRequest};
use crate::slice_buffer::internal;
use crate::snapshot::ReadSnapshot;
use arrow::array::{RecordBatch, RecordBatchOptions};
use atsdb_codec::arrow_schema;
use atsdb_core::limits::CHUNK_ROWS_MAX;
use atsdb_core::{ConflictPolicy, Error, ErrorKind, Result, Table, TimeRange};
use atsdb_resident::{Draft, TableState};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often rows are saved anew because somebody else replaced the chunks meanwhile.
const ATTEMPTS_MAX: usize = 10;
/// Chunks that are read before their rows are counted against the bound.
const CHUNKS_AT_ONCE: usize = 64;

impl Engine {
    /// Saves the rows of tables in memory, all of them or none: they take the place of those that were saved before,
    /// and every process that uses a table for the first time begins with them. Of a table that this process has not
    /// used nothing is to be saved. Says how many rows were saved.
    pub fn save_resident(&self, tables: &[Table]) -> Result<u64> {
        let hold = self.hold();
        hold.lease()?;
        for _ in 0..ATTEMPTS_MAX {
            let mut batch = self.batch(None);
            let snapshot = batch.snapshot()?;
            let mut row_count = 0;
            for table in tables {
                if let Some(state) = snapshot.resident_in_use(table)? {
                    row_count += batch.save_resident(table, &state)?;
                }
            }
            match batch.commit() {
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                committed => return committed.map(|_| row_count),
            }
        }
        Err(Error::new(ErrorKind::Conflict, "others save the same tables all the time").with_hint("try again"))
    }
}

impl Batch {
    /// Puts rows in the place of those that are saved of a table in memory, with the commit. The rows may be another
    /// store's, if its table is defined alike. Says how many there are.
    pub fn save_resident(&mut self, table: &Table, state: &TableState) -> Result<u64> {
        if !table.definition.is_in_memory() || state.definition().columns != table.definition.columns {
            let message = format!("the rows are not those of table {}, which is in memory", table.definition.name);
            return Err(Error::internal(message));
        }
        let snapshot = self.snapshot()?;
        for entry in snapshot.inner.store.chunks(table.id, TimeRange::ALL)? {
            self.remove_chunk(table.id, entry.id)?;
        }
        let columns: Vec<usize> = (0..table.definition.columns.len()).collect();
        let schema = arrow_schema(&table.definition);
        for (part, rows) in state.stretches(CHUNK_ROWS_MAX) {
            let (columns, numbers) = state.read(part, rows, &columns)?;
            let options = RecordBatchOptions::new().with_row_count(Some(numbers.len()));
            let columns = match numbers.len() {
                CHUNK_ROWS_MAX => columns,
                // Rows that wait for their chunk to fill do not keep all others.
                _ => columns.iter().map(of_its_own).collect(),
            };
            let rows = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options).map_err(internal)?;
            self.push_rows(table, rows)?;
        }
        Ok(state.row_count() as u64)
    }
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
