//! Preloading: this process keeps the columns of the last hours of some tables decoded (`WITH (preload = '8 hours')`),
//! so that reads of these times read no page of the store. The preloaded columns have a separate size limit, so other
//! reads do not evict them. Chunks that an append encodes or that sealing merges are added at once, before their
//! commit: only readers that see a chunk look it up by its name. A thread ([`preloading`](crate::upkeep::preloading))
//! loads missing chunks and drops those that are too old or removed. Not owned: the list of chunks, which every reader
//! gets from the store.

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::take;
use atsdb_core::{ChunkUid, ColumnId, Retention, Table, TableDefinition, TableId};
use parking_lot::RwLock;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

/// Columns of a chunk and filters of its indexes, in the form in which the column cache holds them.
pub(crate) type Columns = Vec<(ColumnId, ArrayRef)>;

/// The preloaded columns.
pub(crate) struct Preloaded {
    bytes_max: u64,
    held: RwLock<PreloadedChunks>,
    hits: AtomicU64,
}

#[derive(Default)]
struct PreloadedChunks {
    chunks: HashMap<ChunkUid, PreloadedChunk>,
    bytes: u64,
    /// The declarations of the tables at the last check.
    declared: BTreeMap<TableId, Retention>,
    /// The number of checks so far.
    check: u64,
    /// Whether the last check found more columns than fit.
    is_cut: bool,
}

struct PreloadedChunk {
    time_max_ms: i64,
    columns: Columns,
    bytes: u64,
    /// The number of the last check before it was added.
    check: u64,
}

/// Figures of preloading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PreloadStats {
    /// Tables that are preloaded.
    pub tables: u64,
    /// Chunks with preloaded columns.
    pub chunks: u64,
    /// Lookups of a chunk's column that found it.
    pub hits: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Maximum size in bytes.
    pub bytes_max: u64,
    /// Whether the columns to preload exceed the maximum. Then the latest ones are held.
    pub is_cut: bool,
}

impl Preloaded {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max: bytes_max as u64, held: RwLock::default(), hits: AtomicU64::new(0) }
    }

    /// Returns whether preloading is switched on.
    pub(crate) fn is_on(&self) -> bool {
        self.bytes_max > 0
    }

    pub(crate) fn get(&self, chunk: ChunkUid, column: ColumnId) -> Option<ArrayRef> {
        if !self.is_on() {
            return None;
        }
        let held = self.held.read();
        let columns = &held.chunks.get(&chunk)?.columns;
        let (_, array) = columns.iter().find(|(id, _)| *id == column)?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(ArrayRef::clone(array))
    }

    /// The columns of a chunk that are held. They may be from before a change of the table's definition.
    pub(crate) fn columns_of(&self, chunk: ChunkUid) -> Columns {
        self.held.read().chunks.get(&chunk).map(|chunk| chunk.columns.clone()).unwrap_or_default()
    }

    /// Returns whether the declarations of the tables differ from those at the last check.
    pub(crate) fn has_changed(&self, tables: &[Table]) -> bool {
        let declared = tables.iter().filter_map(|table| Some((table.id, table.definition.preload?)));
        self.is_on() && !declared.eq(self.held.read().declared.iter().map(|(table, preload)| (*table, *preload)))
    }

    /// Adds columns of a chunk, in place of those that it has under the same names, and evicts older chunks if there is
    /// no room. Returns false if all others are newer.
    pub(crate) fn put(&self, chunk: ChunkUid, time_max_ms: i64, columns: Columns) -> bool {
        let mut held = self.held.write();
        let is_replaced = |(id, _): &&(ColumnId, ArrayRef)| columns.iter().any(|(other, _)| other == id);
        let present = held.chunks.get(&chunk).map_or(&[][..], |chunk| &chunk.columns);
        let replaced_bytes = bytes_of(present.iter().filter(is_replaced));
        let bytes = bytes_of(columns.iter());
        while held.bytes - replaced_bytes + bytes > self.bytes_max {
            let oldest = held.chunks.iter().filter(|(uid, _)| **uid != chunk).min_by_key(|(_, held)| held.time_max_ms);
            match oldest.map(|(uid, oldest)| (*uid, oldest.time_max_ms)) {
                Some((uid, oldest)) if oldest < time_max_ms => held.remove(uid),
                _ => return false,
            }
        }
        let check = held.check;
        held.bytes = held.bytes - replaced_bytes + bytes;
        let into =
            held.chunks.entry(chunk).or_insert(PreloadedChunk { time_max_ms, columns: Vec::new(), bytes: 0, check });
        into.bytes = into.bytes - replaced_bytes + bytes;
        into.columns.retain(|column| !is_replaced(&column));
        into.columns.extend(columns);
        true
    }

    /// Begins a check of what should be held.
    pub(crate) fn begin_check(&self) {
        self.held.write().check += 1;
    }

    /// Drops the chunks that the check did not find. Chunks added since the check before are kept: they may not have
    /// been visible to this one.
    pub(crate) fn keep_only(&self, found: &HashSet<ChunkUid>, declared: BTreeMap<TableId, Retention>) {
        let mut held = self.held.write();
        let is_old = |(uid, chunk): (&ChunkUid, &PreloadedChunk)| {
            (!found.contains(uid) && chunk.check + 1 < held.check).then_some(*uid)
        };
        let old: Vec<ChunkUid> = held.chunks.iter().filter_map(is_old).collect();
        old.into_iter().for_each(|uid| held.remove(uid));
        held.declared = declared;
    }

    /// Ends a check. `is_cut` is true if there was no room for some chunks.
    pub(crate) fn end_check(&self, is_cut: bool) {
        self.held.write().is_cut = is_cut;
    }

    pub(crate) fn stats(&self) -> PreloadStats {
        let held = self.held.read();
        PreloadStats {
            tables: held.declared.len() as u64,
            chunks: held.chunks.len() as u64,
            hits: self.hits.load(Ordering::Relaxed),
            bytes: held.bytes,
            bytes_max: self.bytes_max,
            is_cut: held.is_cut,
        }
    }
}

impl PreloadedChunks {
    fn remove(&mut self, chunk: ChunkUid) {
        if let Some(chunk) = self.chunks.remove(&chunk) {
            self.bytes -= chunk.bytes;
        }
    }
}

/// A time of a table in milliseconds, comparable between tables.
pub(crate) fn in_ms(definition: &TableDefinition, time: i64) -> i64 {
    (i128::from(time) * 1_000 / i128::from(definition.time_unit().per_second())) as i64
}

fn bytes_of<'a>(columns: impl Iterator<Item = &'a (ColumnId, ArrayRef)>) -> u64 {
    columns.map(|(_, array)| array.get_array_memory_size() as u64 + 64).sum()
}

/// A copy of the array if it is a slice of a much larger one, so that it does not hold that one in memory.
pub(crate) fn compacted(array: &ArrayRef) -> ArrayRef {
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
            preloaded.begin_check();
            preloaded.keep_only(&HashSet::from([uid(3)]), BTreeMap::new());
        }
        assert!(preloaded.get(uid(2), ColumnId(1)).is_none() && preloaded.get(uid(3), ColumnId(1)).is_some());
    }

    #[test]
    fn a_column_takes_the_place_of_an_older_one() {
        let preloaded = Preloaded::new(2_500);
        let uid = ChunkUid([1; 16]);
        let bytes = || preloaded.stats().bytes;
        assert!(preloaded.put(uid, 10, column(50)));
        let small = bytes();
        assert!(preloaded.put(uid, 10, column(200)));
        assert_eq!(preloaded.get(uid, ColumnId(1)).map(|array| array.len()), Some(200));
        assert!(preloaded.columns_of(uid).len() == 1 && bytes() > small, "{small} {}", bytes());
        // Both together would be more than the maximum.
        assert!(preloaded.put(uid, 10, column(150)) && preloaded.put(uid, 10, column(50)));
        assert_eq!((preloaded.columns_of(uid).len(), bytes()), (1, small));
    }

    #[test]
    fn a_slice_does_not_hold_what_it_is_a_slice_of() {
        let large: ArrayRef = Arc::new(Int64Array::from(vec![1; 100_000]));
        let own = compacted(&large.slice(5, 10));
        assert!(own.get_array_memory_size() < 2_000 && own.len() == 10);
    }
}
