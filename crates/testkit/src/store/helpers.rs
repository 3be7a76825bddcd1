//! Helpers for the cases.

use crate::sample::{Plan, series_table};
use atsdb_core::{
    Amendment, BatchId, Change, ChunkEntry, ChunkGuard, ChunkId, ColumnId, CommitOutcome, DefinitionGuard,
    DefinitionVersion, Error, ErrorKind, NewChunk, Redefinition, Result, Snapshot, StageId, Store, Table, TableId,
    TimeRange,
};

/// The time of all cases, in milliseconds: in 2024.
pub(super) const NOW_MS: i64 = 1_709_294_400_000;

pub(super) fn create(store: &dyn Store, name: &str) -> TableId {
    store.create_table(&series_table(name), None).unwrap().id
}

pub(super) fn commit(store: &dyn Store, change: Change) -> Result<CommitOutcome> {
    let mut outcomes = store.commit(&[change], NOW_MS).unwrap();
    assert_eq!(outcomes.len(), 1);
    outcomes.remove(0)
}

pub(super) fn adding(add: Vec<NewChunk>) -> Change {
    Change { add, ..Change::default() }
}

pub(super) fn publishing(stage: StageId) -> Change {
    Change { stage: Some(stage), ..Change::default() }
}

pub(super) fn removing(entries: &[ChunkEntry]) -> Change {
    Change { remove: entries.iter().map(|entry| (entry.table, entry.id)).collect(), ..Change::default() }
}

pub(super) fn named(name: &str, change: Change) -> Change {
    Change { batch: Some(BatchId::new(name).unwrap()), ..change }
}

pub(super) fn dropping(table: TableId) -> Change {
    Change { drop: vec![table], ..Change::default() }
}

pub(super) fn redefining(redefine: Vec<Redefinition>) -> Change {
    Change { redefine, ..Change::default() }
}

pub(super) fn amending(amend: Vec<Amendment>) -> Change {
    Change { amend, ..Change::default() }
}

/// Returns the change with a guard that the table has no newer chunk.
pub(super) fn guarded(table: TableId, newest: ChunkId, change: Change) -> Change {
    Change { guards: vec![ChunkGuard { table, newest }], ..change }
}

/// A guard that the table has its first definition.
pub(super) fn based_on_first(table: TableId) -> DefinitionGuard {
    DefinitionGuard { table, version: DefinitionVersion::FIRST, name: "the first".to_owned() }
}

/// A table's sample definition under another name.
pub(super) fn renaming(table: TableId, from: &str, to: &str) -> Redefinition {
    Redefinition { table, from: series_table(from), to: series_table(to) }
}

/// Commits one chunk, and returns its number.
pub(super) fn append(store: &dyn Store, chunk: &NewChunk) -> ChunkId {
    assert_eq!(commit(store, adding(vec![chunk.clone()])).unwrap(), CommitOutcome::Committed);
    visible(store, chunk.table).iter().map(|entry| entry.id).max().unwrap()
}

/// Returns everything that is visible, except pages.
pub(super) fn everything(store: &dyn Store) -> Vec<(Table, Vec<ChunkEntry>)> {
    let snapshot = store.snapshot().unwrap();
    let with_chunks = |table: Table| {
        let chunks = snapshot.chunks(table.id, TimeRange::ALL).unwrap();
        (table, chunks)
    };
    snapshot.tables().unwrap().into_iter().map(with_chunks).collect()
}

/// Commits one chunk for each seed, and returns the table's chunks.
pub(super) fn fill(store: &dyn Store, table: TableId, seeds: std::ops::Range<u64>) -> Vec<ChunkEntry> {
    let add = seeds.map(|seed| Plan::new(seed).chunk(table)).collect();
    assert_eq!(commit(store, adding(add)).unwrap(), CommitOutcome::Committed);
    visible(store, table)
}

pub(super) fn visible(store: &dyn Store, table: TableId) -> Vec<ChunkEntry> {
    store.snapshot().unwrap().chunks(table, TimeRange::ALL).unwrap()
}

pub(super) fn tables(store: &dyn Store) -> Vec<Table> {
    store.snapshot().unwrap().tables().unwrap()
}

pub(super) fn table_names(store: &dyn Store) -> Vec<String> {
    tables(store).into_iter().map(|table| table.definition.name).collect()
}

pub(super) fn columns(count: u16) -> Vec<ColumnId> {
    (0..count).map(ColumnId).collect()
}

/// Asserts that the store has exactly these chunks, bit for bit, in this table.
#[track_caller]
pub(super) fn assert_holds(store: &dyn Store, table: TableId, chunks: &[NewChunk]) {
    assert_shows(&*store.snapshot().unwrap(), table, chunks);
}

/// Asserts that a snapshot shows exactly these chunks, bit for bit, in this table.
#[track_caller]
pub(super) fn assert_shows(snapshot: &dyn Snapshot, table: TableId, chunks: &[NewChunk]) {
    let entries = snapshot.chunks(table, TimeRange::ALL).unwrap();
    assert_eq!(entries.len(), chunks.len());
    for chunk in chunks {
        let entry = entries
            .iter()
            .find(|entry| entry.descriptor_bytes == chunk.descriptor_bytes)
            .expect("the chunk's descriptor is listed");
        assert_entry(entry, chunk);
        let asked: Vec<ColumnId> = chunk.descriptor.pages.iter().map(|page| page.column).collect();
        assert!(snapshot.read_pages(entry.id, &asked).unwrap() == chunk.pages, "pages differ");
    }
}

#[track_caller]
pub(super) fn assert_entry(entry: &ChunkEntry, chunk: &NewChunk) {
    let expected = ChunkEntry {
        id: entry.id,
        table: chunk.table,
        slice_start: chunk.descriptor.slice.start,
        sealed: chunk.descriptor.sealed,
        row_count: chunk.descriptor.row_count,
        time_min: chunk.descriptor.time_min,
        time_max: chunk.descriptor.time_max,
        byte_count: chunk.descriptor.byte_count(),
        descriptor_bytes: chunk.descriptor_bytes.clone(),
    };
    assert_eq!(*entry, expected);
}

#[track_caller]
pub(super) fn assert_kind<T>(result: Result<T, Error>, kind: ErrorKind) {
    let error = result.err().expect("an error is due");
    assert_eq!(error.kind(), kind, "{error}");
}

/// Reclaims until nothing is left, and returns the numbers of steps and bytes.
#[track_caller]
pub(super) fn reclaim_all(store: &dyn Store, byte_budget: u64, now_ms: i64) -> (usize, u64) {
    let mut byte_count = 0;
    for step in 1..10_000 {
        let reclaimed = store.reclaim(byte_budget, now_ms).unwrap();
        byte_count += reclaimed.byte_count;
        if !reclaimed.more {
            return (step, byte_count);
        }
    }
    panic!("reclaiming does not end");
}
