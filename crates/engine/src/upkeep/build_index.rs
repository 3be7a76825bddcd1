//! Building an index: chunks that are older than the index get its pages, step by step.
//!
//! A step is one commit; what it did stays, whatever happens after it. A chunk that somebody else replaced meanwhile has
//! a successor, which has the pages already or gets them in a later step.

use crate::chunk::index_columns::index_columns;
use crate::chunk::missing::missing_array;
use crate::read::snapshot::ReadSnapshot;
use crate::shared::Shared;
use crate::shared::commit::Refused;
use atsdb_codec::{EncodedPage, encode_descriptor, encode_membership};
use atsdb_core::{
    Amendment, Change, ChunkDescriptor, ChunkEntry, ChunkId, Error, ErrorKind, Index, Result, Table, TimeRange,
};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most rows of a step: their pages have at most 5 MiB.
const STEP_ROWS_MAX: u64 = 4 << 20;

/// The most chunks of a step.
const STEP_CHUNKS_MAX: usize = 1_024;

/// After so long the present state is looked at anew, as a snapshot keeps the store from giving space back.
const SNAPSHOT_AGE_MS_MAX: i64 = 5_000;

/// So many steps in a row that somebody else was faster than are the end.
const CONFLICTS_MAX: usize = 1_000;

/// What was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BuildReport {
    /// Chunks that got a page.
    pub chunks: u64,
    /// Rows in them.
    pub rows: u64,
    /// Bytes of the pages.
    pub bytes: u64,
    /// Steps that were done again because somebody else changed a chunk meanwhile.
    pub conflicts: u64,
}

/// A chunk, and its page or what hindered it.
type Built<'a> = (&'a ChunkEntry, &'a ChunkDescriptor, Result<EncodedPage>);

/// The chunks that cannot be read.
#[derive(Default)]
struct Damaged {
    chunks: HashSet<ChunkId>,
    first: Option<Error>,
}

impl Damaged {
    /// What was made of a chunk; `None` if the chunk is damaged, which is remembered.
    fn sort_out<T>(&mut self, chunk: ChunkId, result: Result<T>) -> Result<Option<T>> {
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

/// Gives every chunk of the table that has no page of the index one. The index is in the table's definition already,
/// so that chunks that come meanwhile bring theirs. What another process builds, or an earlier call that did not
/// come to its end built, is not built again. A table or an index that is gone is
/// [`NotFound`](ErrorKind::NotFound). Damaged chunks are left without, and told when the others have theirs.
pub(crate) fn build_index(shared: &Arc<Shared>, table: &Table, index: &Index) -> Result<BuildReport> {
    let mut report = BuildReport::default();
    if table.definition.is_in_memory() {
        return Ok(report);
    }
    let mut damaged = Damaged::default();
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
    step: &[(ChunkEntry, ChunkDescriptor)],
    damaged: &mut Damaged,
) -> Result<BuildReport> {
    let mut report = BuildReport::default();
    let mut amend = Vec::with_capacity(step.len());
    for (entry, descriptor, page) in build_pages(snapshot, table, index, step, shared.workers.thread_count())? {
        let Some(page) = damaged.sort_out(entry.id, page)? else { continue };
        let mut descriptor = descriptor.clone();
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
        .map_err(Refused::into_error)?;
    Ok(report)
}

/// The table and the index as they are now.
fn present(snapshot: &ReadSnapshot, table: &Table, index: &Index) -> Result<(Table, Index)> {
    let gone = |what: &str, name: &str| Error::new(ErrorKind::NotFound, format!("{what} {name} is gone"));
    let now = snapshot.tables().iter().find(|other| other.id == table.id);
    let now = now.ok_or_else(|| gone("table", &table.definition.name))?;
    let index_now = now.definition.indexes.iter().find(|other| other.id == index.id);
    Ok((now.clone(), index_now.ok_or_else(|| gone("index", &index.name))?.clone()))
}

fn without_page(
    snapshot: &ReadSnapshot,
    table: &Table,
    index: &Index,
    damaged: &mut Damaged,
) -> Result<Vec<(ChunkEntry, ChunkDescriptor)>> {
    let mut todo = Vec::new();
    for entry in snapshot.inner.store.chunks(table.id, TimeRange::ALL)? {
        if damaged.chunks.contains(&entry.id) {
            continue;
        }
        let descriptor = snapshot.inner.descriptor(table, &entry);
        let Some(descriptor) = damaged.sort_out(entry.id, descriptor)? else { continue };
        if descriptor.page(index.id).is_none() {
            todo.push((entry, descriptor));
        }
    }
    Ok(todo)
}

/// Cuts chunks into those that one commit amends.
fn steps(todo: &[(ChunkEntry, ChunkDescriptor)]) -> impl Iterator<Item = &[(ChunkEntry, ChunkDescriptor)]> {
    let mut rest = todo;
    std::iter::from_fn(move || {
        let mut rows = 0;
        let fits = |(entry, _): &&(ChunkEntry, ChunkDescriptor)| {
            rows += u64::from(entry.row_count);
            rows <= STEP_ROWS_MAX
        };
        let length = rest.iter().take(STEP_CHUNKS_MAX).take_while(fits).count().max(1).min(rest.len());
        let (step, after) = rest.split_at(length);
        rest = after;
        (!step.is_empty()).then_some(step)
    })
}

/// The pages of some chunks, made on as many threads as there are cores.
fn build_pages<'a>(
    snapshot: &ReadSnapshot,
    table: &Table,
    index: &Index,
    step: &'a [(ChunkEntry, ChunkDescriptor)],
    thread_count: usize,
) -> Result<Vec<Built<'a>>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut built = Vec::new();
        while let Some((entry, descriptor)) = step.get(next.fetch_add(1, Ordering::Relaxed)) {
            built.push((entry, descriptor, build_page(snapshot, table, index, entry, descriptor)));
        }
        Ok(built)
    };
    let parts: Vec<Result<Vec<Built<'a>>>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..thread_count.min(step.len())).map(|_| scope.spawn(work)).collect();
        let own = work();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err(Error::internal("building an index panicked")))
        };
        std::iter::once(own).chain(others.into_iter().map(join)).collect()
    });
    let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(parts.into_iter().flatten().collect())
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
            None => missing_array(table, column, entry.row_count as usize),
        }
    })?;
    encode_membership(descriptor.uid, index.id, &columns)
}
