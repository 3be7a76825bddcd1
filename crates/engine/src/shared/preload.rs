//! Preloading: the columns of the last hours of tables that declare it (`WITH (preload = '8 hours')`), kept decoded in this
//! process, so that reads of these times touch no page of the store.
//!
//! Owned here: what is held, within a bound of its own that no other read pushes it out of. What an append encodes, or
//! sealing merges, is put in at once, before its commit: nobody asks for a chunk by its name who does not see it. The thread
//! ([`preloading`](crate::upkeep::preloading)) loads what is missing and drops what is too old or gone. Not owned: which
//! chunks there are, which every reader asks of the store.

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::take;
use atsdb_core::{ChunkUid, ColumnId, Retention, Table, TableDefinition, TableId};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Columns of a chunk, and filters of its indexes, in the form the cache of columns has them.
pub(crate) type Columns = Vec<(ColumnId, ArrayRef)>;

/// What is held.
pub(crate) struct Preloaded {
    bytes_max: u64,
    held: RwLock<Held>,
    hits: AtomicU64,
}

#[derive(Default)]
struct Held {
    chunks: HashMap<ChunkUid, HeldChunk>,
    bytes: u64,
    /// What tables declared at the last look.
    declared: BTreeMap<TableId, Retention>,
    /// How many looks there were.
    look: u64,
    /// Whether something had no room at the last look.
    is_cut: bool,
}

struct HeldChunk {
    time_max_ms: i64,
    columns: Columns,
    bytes: u64,
    /// The look after which it was put in.
    look: u64,
}

/// How preloading does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PreloadStats {
    /// Tables that declare it.
    pub tables: u64,
    /// Chunks of which columns are held.
    pub chunks: u64,
    /// Columns of chunks that were found.
    pub hits: u64,
    /// Bytes held.
    pub bytes: u64,
    /// The most bytes held.
    pub bytes_max: u64,
    /// Whether the tables' last hours have more than that: then the latest of them are held.
    pub is_cut: bool,
}

impl Preloaded {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max: bytes_max as u64, held: RwLock::default(), hits: AtomicU64::new(0) }
    }

    /// Whether anything is ever held.
    pub(crate) fn is_on(&self) -> bool {
        self.bytes_max > 0
    }

    pub(crate) fn get(&self, chunk: ChunkUid, column: ColumnId) -> Option<ArrayRef> {
        if !self.is_on() {
            return None;
        }
        let held = self.read();
        let columns = &held.chunks.get(&chunk)?.columns;
        let (_, array) = columns.iter().find(|(id, _)| *id == column)?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(ArrayRef::clone(array))
    }

    /// Which of a chunk's columns are held.
    pub(crate) fn columns_of(&self, chunk: ChunkUid) -> HashSet<ColumnId> {
        let held = self.read();
        held.chunks.get(&chunk).map(|chunk| chunk.columns.iter().map(|(id, _)| *id).collect()).unwrap_or_default()
    }

    /// Whether tables declare something else than at the last look.
    pub(crate) fn is_news(&self, tables: &[Table]) -> bool {
        let declared = tables.iter().filter_map(|table| Some((table.id, table.definition.preload?)));
        self.is_on() && !declared.eq(self.read().declared.iter().map(|(table, preload)| (*table, *preload)))
    }

    /// Takes columns in. Without room for all, the oldest held go; `false` when these are the oldest.
    pub(crate) fn put(&self, chunk: ChunkUid, time_max_ms: i64, columns: Columns) -> bool {
        let mut held = self.write();
        let present = held.chunks.get(&chunk).map_or(&[][..], |chunk| &chunk.columns);
        let is_new = |(id, _): &(ColumnId, ArrayRef)| present.iter().all(|(other, _)| other != id);
        let columns: Columns = columns.into_iter().filter(is_new).collect();
        let bytes = columns.iter().map(|(_, array)| byte_count(array)).sum::<u64>();
        while held.bytes + bytes > self.bytes_max {
            let oldest = held.chunks.iter().filter(|(uid, _)| **uid != chunk).min_by_key(|(_, held)| held.time_max_ms);
            match oldest.map(|(uid, oldest)| (*uid, oldest.time_max_ms)) {
                Some((uid, oldest)) if oldest < time_max_ms => held.remove(uid),
                _ => return false,
            }
        }
        let look = held.look;
        held.bytes += bytes;
        let into = held.chunks.entry(chunk).or_insert(HeldChunk { time_max_ms, columns: Vec::new(), bytes: 0, look });
        into.bytes += bytes;
        into.columns.extend(columns);
        true
    }

    /// A look begins at what tables declare.
    pub(crate) fn begin_look(&self) {
        self.write().look += 1;
    }

    /// Drops all but the chunks that the look found. What came since the look before it may not have been visible to it.
    pub(crate) fn keep_only(&self, found: &HashSet<ChunkUid>, declared: BTreeMap<TableId, Retention>) {
        let mut held = self.write();
        let is_old = |(uid, chunk): (&ChunkUid, &HeldChunk)| {
            (!found.contains(uid) && chunk.look + 1 < held.look).then_some(*uid)
        };
        let old: Vec<ChunkUid> = held.chunks.iter().filter_map(is_old).collect();
        old.into_iter().for_each(|uid| held.remove(uid));
        held.declared = declared;
    }

    /// Says whether the look had room for everything.
    pub(crate) fn end_look(&self, is_cut: bool) {
        self.write().is_cut = is_cut;
    }

    pub(crate) fn stats(&self) -> PreloadStats {
        let held = self.read();
        PreloadStats {
            tables: held.declared.len() as u64,
            chunks: held.chunks.len() as u64,
            hits: self.hits.load(Ordering::Relaxed),
            bytes: held.bytes,
            bytes_max: self.bytes_max,
            is_cut: held.is_cut,
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Held> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Held> {
        self.held.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn remove(&mut self, chunk: ChunkUid) {
        if let Some(chunk) = self.chunks.remove(&chunk) {
            self.bytes -= chunk.bytes;
        }
    }
}

/// A time of a table in milliseconds, so that tables compare.
pub(crate) fn in_ms(definition: &TableDefinition, time: i64) -> i64 {
    (i128::from(time) * 1_000 / i128::from(definition.time_unit().per_second())) as i64
}

fn byte_count(array: &ArrayRef) -> u64 {
    array.get_array_memory_size() as u64 + 64
}

/// The array, without a larger one that it may be a slice of.
pub(crate) fn of_its_own(array: &ArrayRef) -> ArrayRef {
    let own = array.to_data().get_slice_memory_size().unwrap_or(0);
    if array.get_array_memory_size() <= 2 * own + 1_024 {
        return ArrayRef::clone(array);
    }
    let all: UInt32Array = (0..array.len() as u32).collect();
    take(array, &all, None).unwrap_or_else(|_| ArrayRef::clone(array))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Int64Array;
    use std::sync::Arc;

    fn column(rows: usize) -> Columns {
        vec![(ColumnId(1), Arc::new(Int64Array::from(vec![1; rows])) as ArrayRef)]
    }

    #[test]
    fn the_latest_stay_when_there_is_no_room_for_all() {
        let preloaded = Preloaded::new(2_500);
        let uid = |number| ChunkUid([number; 16]);
        assert!(preloaded.put(uid(1), 10, column(100)) && preloaded.put(uid(2), 20, column(100)));
        assert!(preloaded.put(uid(3), 30, column(100)));
        assert!(preloaded.get(uid(1), ColumnId(1)).is_none() && preloaded.get(uid(2), ColumnId(1)).is_some());
        assert!(!preloaded.put(uid(4), 5, column(100)), "older than all that is held");
        assert!(preloaded.stats().bytes <= 2_500);
        for _ in 0..3 {
            preloaded.begin_look();
            preloaded.keep_only(&HashSet::from([uid(3)]), BTreeMap::new());
        }
        assert!(preloaded.get(uid(2), ColumnId(1)).is_none() && preloaded.get(uid(3), ColumnId(1)).is_some());
    }

    #[test]
    fn a_slice_does_not_hold_what_it_is_a_slice_of() {
        let large: ArrayRef = Arc::new(Int64Array::from(vec![1; 100_000]));
        let own = of_its_own(&large.slice(5, 10));
        assert!(own.get_array_memory_size() < 2_000 && own.len() == 10);
    }
}
