//! Building an index: adds pages to the chunks that are older than the index, step by step.
//!
//! Each step is one commit, whose result stays even if a later step fails. If another writer replaces a chunk in the
//! meantime, its successor has the pages already or gets them in a later step.

use crate::chunk::index_columns::{encode_index, index_columns};
use crate::chunk::missing::missing_array;
use crate::read::snapshot::ReadSnapshot;
use crate::shared::Shared;
use crate::shared::commit::RefusedChange;
use atsdb_codec::{EncodedPage, encode_descriptor};
use atsdb_core::parallel::parallel_map;
use atsdb_core::{
    Amendment, Change, ChunkDescriptor, ChunkEntry, ChunkId, Error, ErrorKind, Index, Result, Table, TimeRange,
};
use std::collections::HashSet;
use std::sync::Arc;

/// Maximum number of rows in a step: their index pages have at most 5 MiB.
const STEP_ROWS_MAX: u64 = 4 << 20;

/// Maximum number of chunks in a step.
const STEP_CHUNKS_MAX: usize = 1_024;

/// Maximum age of a snapshot in milliseconds: while it is held, the store cannot return space.
const SNAPSHOT_AGE_MS_MAX: i64 = 5_000;

/// Building fails after this many conflicts in a row.
const CONFLICTS_MAX: usize = 1_000;

/// The result of building an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BuildReport {
    /// Chunks that got a page.
    pub chunks: u64,
    /// Rows in them.
    pub rows: u64,
    /// Bytes of the pages.
    pub bytes: u64,
    /// Steps that were retried because another writer changed a chunk in the meantime.
    pub conflicts: u64,
}

/// The damaged chunks found so far.
#[derive(Default)]
struct DamagedChunks {
    chunks: HashSet<ChunkId>,
    first: Option<Error>,
}

impl DamagedChunks {
    /// The result for a chunk. `None` if the chunk is damaged, which is noted.
    fn note<T>(&mut self, chunk: ChunkId, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(made) => Ok(Some(made)),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                self.chunks.insert(chunk);
                self.first.get_or_insert(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Builds the index pages of all chunks that have none ([`Engine::build_index`](crate::Engine::build_index)).
pub(crate) fn build_index(shared: &Arc<Shared>, table: &Table, index: &Index) -> Result<BuildReport> {
    let mut report = BuildReport::default();
    if table.definition.is_in_memory() {
        return Ok(report);
    }
    let mut damaged = DamagedChunks::default();
    let mut conflicts_in_a_row = 0;
    loop {
        let snapshot = ReadSnapshot::take(shared)?;
        let (table, index) = present(&snapshot, table, index)?;
        let todo = without_page(&snapshot, &table, &index, &mut damaged)?;
        if todo.is_empty() {
            return damaged.first.map_or(Ok(report), Err);
        }
        let started_ms = shared.environment.now_ms();
        for step in steps(&todo) {
            match build_step(shared, &snapshot, &table, &index, step, &mut damaged) {
                Ok(done) => {
                    conflicts_in_a_row = 0;
                    report.chunks += done.chunks;
                    report.rows += done.rows;
                    report.bytes += done.bytes;
                }
                Err(error) if error.kind() == ErrorKind::Conflict && conflicts_in_a_row < CONFLICTS_MAX => {
                    conflicts_in_a_row += 1;
                    report.conflicts += 1;
                    break;
                }
                Err(error) => return Err(error.context(format_args!("index {}", index.name))),
            }
            if shared.environment.now_ms().saturating_sub(started_ms) > SNAPSHOT_AGE_MS_MAX {
                break;
            }
        }
    }
}

fn build_step(
    shared: &Arc<Shared>,
    snapshot: &ReadSnapshot,
    table: &Table,
    index: &Index,
    step: &[(ChunkEntry, Arc<ChunkDescriptor>)],
    damaged: &mut DamagedChunks,
) -> Result<BuildReport> {
    let mut report = BuildReport::default();
    let mut amend = Vec::with_capacity(step.len());
    let build = |(entry, descriptor): &(ChunkEntry, Arc<ChunkDescriptor>)| {
        // A chunk that cannot be read does not stop the others.
        Ok(build_page(snapshot, table, index, entry, descriptor))
    };
    let pages = parallel_map(shared.workers.thread_count(), step, build)?;
    for ((entry, descriptor), page) in step.iter().zip(pages) {
        let Some(page) = damaged.note(entry.id, page)? else { continue };
        let mut descriptor = ChunkDescriptor::clone(descriptor);
        report.chunks += 1;
        report.rows += u64::from(entry.row_count);
        report.bytes += page.bytes.len() as u64;
        descriptor.pages.push(page.descriptor);
        descriptor.pages.sort_by_key(|page| page.column);
        let descriptor_bytes = encode_descriptor(&descriptor);
        let (chunk, from) = (entry.id, entry.descriptor_bytes.clone());
        let pages = vec![(index.id, page.bytes)];
        amend.push(Amendment { table: table.id, chunk, from, descriptor, descriptor_bytes, pages });
    }
    shared
        .commit(Change { amend, based_on: snapshot.based_on(table), ..Change::default() }, &[])
        .map_err(RefusedChange::into_error)?;
    Ok(report)
}

/// The table and the index under their present definition.
fn present(snapshot: &ReadSnapshot, table: &Table, index: &Index) -> Result<(Table, Index)> {
    let gone = |what: &str, name: &str| Error::new(ErrorKind::NotFound, format!("{what} {name} was dropped"));
    let now = snapshot.tables().iter().find(|other| other.id == table.id);
    let now = now.ok_or_else(|| gone("table", &table.definition.name))?;
    let index_now = now.definition.indexes.iter().find(|other| other.id == index.id);
    Ok((now.clone(), index_now.ok_or_else(|| gone("index", &index.name))?.clone()))
}

fn without_page(
    snapshot: &ReadSnapshot,
    table: &Table,
    index: &Index,
    damaged: &mut DamagedChunks,
) -> Result<Vec<(ChunkEntry, Arc<ChunkDescriptor>)>> {
    let mut todo = Vec::new();
    for entry in snapshot.inner.store.chunks(table.id, TimeRange::ALL)? {
        if damaged.chunks.contains(&entry.id) {
            continue;
        }
        let descriptor = snapshot.inner.descriptor(table, &entry);
        let Some(descriptor) = damaged.note(entry.id, descriptor)? else { continue };
        if descriptor.page(index.id).is_none() {
            todo.push((entry, descriptor));
        }
    }
    Ok(todo)
}

/// Splits chunks into steps, each of which one commit amends.
fn steps(todo: &[(ChunkEntry, Arc<ChunkDescriptor>)]) -> impl Iterator<Item = &[(ChunkEntry, Arc<ChunkDescriptor>)]> {
    let mut rest = todo;
    std::iter::from_fn(move || {
        let mut rows = 0;
        let fits = |(entry, _): &&(ChunkEntry, Arc<ChunkDescriptor>)| {
            rows += u64::from(entry.row_count);
            rows <= STEP_ROWS_MAX
        };
        let length = rest.iter().take(STEP_CHUNKS_MAX).take_while(fits).count().max(1).min(rest.len());
        let (step, after) = rest.split_at(length);
        rest = after;
        (!step.is_empty()).then_some(step)
    })
}

fn build_page(
    snapshot: &ReadSnapshot,
    table: &Table,
    index: &Index,
    entry: &ChunkEntry,
    descriptor: &ChunkDescriptor,
) -> Result<EncodedPage> {
    let definition = &table.definition;
    let columns = index_columns(definition, index, |position| {
        let column = &definition.columns[position];
        let mut arrays = snapshot.inner.columns(table, entry, descriptor, &[column], false)?;
        match arrays.pop().flatten() {
            Some(array) => Ok(array),
            None => missing_array(&table.definition, column, entry.row_count as usize),
        }
    })?;
    encode_index(descriptor.uid, definition, index, &columns)
}
