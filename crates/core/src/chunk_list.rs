//! Chunk lists in memory, so that a query of a narrow time range does not read a table's whole list again.
//!
//! A list is identified by its integrity record: as long as the record that a snapshot sees is that of the list in
//! memory, both have the same entries. After a commit only the new chunks are read. If the list then differs from the
//! record, chunks were removed, mostly by sealing: the slices that got new chunks are read again, and if that is not
//! enough, everything.

use crate::error::Error;
use crate::id::TableId;
use crate::list::{ChunkKey, ChunkSums, ListKey, ListState};
use crate::refusal;
use crate::time::TimeRange;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The maximum number of chunks in all lists together; each takes 40 bytes.
const CHUNKS_MAX: usize = 1 << 21;

/// The maximum number of new chunks, of all tables, up to which the list in memory is updated instead of read again.
const NEWS_MAX: i64 = 1 << 10;

/// The keys of a table's visible chunks, ordered by slice and number.
#[derive(Debug, Clone)]
pub struct ChunkList {
    table: TableId,
    keys: Vec<ChunkKey>,
    /// For each chunk the latest time of all chunks up to it.
    latest: Vec<i64>,
    sums: ChunkSums,
    /// The number of the newest chunk of the store when the list was read.
    newest: i64,
}

impl ChunkList {
    fn new(table: TableId, keys: Vec<ChunkKey>, newest: i64) -> Result<Self, Error> {
        if !keys.is_sorted_by(|a, b| order(a) < order(b)) {
            let list = ListKey::chunks(None, table);
            return Err(Error::corrupt(format!("{list} is in disorder")).with_hint(refusal::VERIFY));
        }
        let mut list = Self { table, keys, latest: Vec::new(), sums: ChunkSums::default(), newest };
        list.keys.iter().for_each(|key| list.sums.add(key));
        list.extend_latest();
        Ok(list)
    }

    fn state(&self) -> ListState {
        self.sums.state(self.table)
    }

    /// Completes `latest` for the chunks that follow those it covers.
    fn extend_latest(&mut self) {
        let mut latest = self.latest.last().copied().unwrap_or(i64::MIN);
        for key in &self.keys[self.latest.len()..] {
            latest = latest.max(key.time_max);
            self.latest.push(latest);
        }
    }

    /// Adds chunks that are newer than all others.
    fn add(&mut self, news: &[ChunkKey]) {
        let mut changed = self.keys.len();
        for key in news {
            let position = self.keys.partition_point(|other| other.slice_start <= key.slice_start);
            self.keys.insert(position, *key);
            self.sums.add(key);
            changed = changed.min(position);
        }
        self.latest.truncate(changed);
        self.extend_latest();
    }

    fn replace_slice(&mut self, slice_start: i64, keys: Vec<ChunkKey>) {
        let first = self.keys.partition_point(|key| key.slice_start < slice_start);
        let end = self.keys.partition_point(|key| key.slice_start <= slice_start);
        keys.iter().for_each(|key| self.sums.add(key));
        self.latest.truncate(first);
        self.keys.splice(first..end, keys).for_each(|key| self.sums.subtract(&key));
        self.extend_latest();
    }

    /// Returns the chunks whose times overlap a range, ordered by slice and number.
    pub fn overlapping(&self, range: TimeRange) -> impl Iterator<Item = &ChunkKey> {
        let first = range.start.map_or(0, |start| self.latest.partition_point(|latest| *latest < start));
        // A chunk begins in its slice.
        let end = range.end.map_or(self.keys.len(), |end| self.keys.partition_point(|key| key.slice_start < end));
        let candidates = self.keys.get(first..end).unwrap_or_default();
        candidates.iter().filter(move |key| range.overlaps(key.time_min, key.time_max))
    }
}

fn order(key: &ChunkKey) -> (i64, i64) {
    (key.slice_start, key.id)
}

/// Reads the visible chunks of one table, as a snapshot of a store sees them.
pub trait ChunkListReader {
    /// The store's error.
    type Error: From<Error>;

    /// Returns the integrity record of the list.
    fn recorded(&mut self) -> Result<ListState, Self::Error>;

    /// Returns the number of the newest chunk in the store, of any table, or 0.
    fn newest(&mut self) -> Result<i64, Self::Error>;

    /// Returns the table's chunks with numbers above this one, ordered by number.
    fn keys_since(&mut self, newest: i64) -> Result<Vec<ChunkKey>, Self::Error>;

    /// Returns the chunks of the slice that starts at this time, or all, ordered by slice and number.
    fn keys(&mut self, slice_start: Option<i64>) -> Result<Vec<ChunkKey>, Self::Error>;
}

/// The list of a table. The lock is held while the list is being read.
type Slot = Arc<Mutex<Option<Arc<ChunkList>>>>;

/// The most recently read lists, one for each table.
#[derive(Debug, Default)]
pub struct ChunkLists {
    lists: Mutex<BTreeMap<TableId, Slot>>,
}

impl ChunkLists {
    /// Returns the list as a snapshot sees it, checked against its record.
    pub fn read<R: ChunkListReader>(&self, table: TableId, reader: &mut R) -> Result<Arc<ChunkList>, R::Error> {
        let recorded = reader.recorded()?;
        let slot = Arc::clone(self.lists.lock().entry(table).or_default());
        // Other threads wait for a list that is being read, instead of reading it too.
        let mut slot = slot.lock();
        if let Some(list) = slot.as_ref().filter(|list| list.state() == recorded) {
            return Ok(Arc::clone(list));
        }
        let newest = reader.newest()?;
        // The list of a snapshot that is older than the one in memory is not worth keeping.
        let is_older = slot.as_ref().is_some_and(|list| newest < list.newest);
        let cached = if is_older { None } else { slot.take() };
        let updated = cached.map_or(Ok(None), |cached| update(cached, recorded, newest, reader))?;
        let list = match updated.filter(|list| list.state() == recorded) {
            Some(list) => list,
            None => {
                let list = ChunkList::new(table, reader.keys(None)?, newest)?;
                ListKey::chunks(None, table).check(list.state(), recorded)?;
                Arc::new(list)
            }
        };
        if !is_older {
            *slot = Some(Arc::clone(&list));
            drop(slot);
            self.bound(table);
        }
        Ok(list)
    }

    /// Drops the lists of the other tables if all together are too long.
    fn bound(&self, kept: TableId) {
        let mut lists = self.lists.lock();
        // A list that is being read is not counted.
        let length =
            |slot: &Slot| slot.try_lock().map_or(0, |list| list.as_ref().map_or(0, |list| list.keys.len() + 1));
        if lists.values().map(length).sum::<usize>() > CHUNKS_MAX {
            lists.retain(|table, slot| *table == kept && length(slot) <= CHUNKS_MAX);
        }
    }
}

/// Adds the new chunks. If chunks were removed, the slices with new chunks are read again. `None` if reading everything
/// is cheaper.
fn update<R: ChunkListReader>(
    mut list: Arc<ChunkList>,
    recorded: ListState,
    newest: i64,
    reader: &mut R,
) -> Result<Option<Arc<ChunkList>>, R::Error> {
    if newest - list.newest > NEWS_MAX {
        return Ok(None);
    }
    let news = reader.keys_since(list.newest)?;
    let current = Arc::make_mut(&mut list);
    current.add(&news);
    if current.state() != recorded {
        let slices: BTreeSet<i64> = news.iter().map(|key| key.slice_start).collect();
        for slice_start in slices {
            current.replace_slice(slice_start, reader.keys(Some(slice_start))?);
        }
    }
    current.newest = newest;
    Ok(Some(list))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const TABLE: TableId = TableId(7);

    fn key(id: i64, slice_start: i64, time_min: i64, time_max: i64) -> ChunkKey {
        ChunkKey { id, slice_start, time_min, time_max }
    }

    /// A store with one table; it counts the chunks that were read.
    #[derive(Default)]
    struct FakeStore {
        keys: Vec<ChunkKey>,
        newest: i64,
        read: Cell<usize>,
    }

    impl FakeStore {
        fn add(&mut self, slice_start: i64) {
            self.newest += 1;
            self.keys.push(key(self.newest, slice_start, slice_start, slice_start + 9));
            self.keys.sort_by_key(order);
        }
    }

    impl ChunkListReader for &FakeStore {
        type Error = Error;

        fn recorded(&mut self) -> Result<ListState, Error> {
            let mut sums = ChunkSums::default();
            self.keys.iter().for_each(|key| sums.add(key));
            Ok(sums.state(TABLE))
        }

        fn newest(&mut self) -> Result<i64, Error> {
            Ok(self.newest)
        }

        fn keys_since(&mut self, newest: i64) -> Result<Vec<ChunkKey>, Error> {
            let mut news: Vec<ChunkKey> = self.keys.iter().filter(|key| key.id > newest).copied().collect();
            news.sort_by_key(|key| key.id);
            self.read.set(self.read.get() + news.len());
            Ok(news)
        }

        fn keys(&mut self, slice_start: Option<i64>) -> Result<Vec<ChunkKey>, Error> {
            let wanted = |key: &&ChunkKey| slice_start.is_none_or(|start| key.slice_start == start);
            let keys: Vec<ChunkKey> = self.keys.iter().filter(wanted).copied().collect();
            self.read.set(self.read.get() + keys.len());
            Ok(keys)
        }
    }

    fn read(lists: &ChunkLists, store: &FakeStore) -> Vec<ChunkKey> {
        store.read.set(0);
        lists.read(TABLE, &mut &*store).unwrap().overlapping(TimeRange::ALL).copied().collect()
    }

    #[test]
    fn after_a_commit_only_the_new_chunks_are_read_and_after_a_seal_its_slice() {
        let (lists, mut store) = (ChunkLists::default(), FakeStore::default());
        (0..100).for_each(|slice| store.add(slice * 10));
        assert_eq!((read(&lists, &store), store.read.get()), (store.keys.clone(), 100));
        assert_eq!((read(&lists, &store), store.read.get()), (store.keys.clone(), 0));

        // An append, and a seal that replaces two chunks of a slice by one.
        store.add(500);
        assert_eq!((read(&lists, &store), store.read.get()), (store.keys.clone(), 1));
        store.add(500);
        store.add(700);
        store.add(500);
        assert_eq!((read(&lists, &store), store.read.get()), (store.keys.clone(), 3));
        store.add(500);
        store.keys.retain(|key| key.slice_start != 500 || key.id == store.newest);
        assert_eq!((read(&lists, &store), store.read.get()), (store.keys.clone(), 2));

        // A removal without a new chunk cannot be seen from the numbers.
        store.keys.remove(3);
        assert_eq!((read(&lists, &store), store.read.get()), (store.keys.clone(), 100));
    }

    #[test]
    fn an_older_snapshot_gets_its_own_list_and_leaves_the_newer_one() {
        let (lists, mut store) = (ChunkLists::default(), FakeStore::default());
        store.add(0);
        let old = FakeStore { keys: store.keys.clone(), newest: store.newest, ..FakeStore::default() };
        store.add(10);
        assert_eq!(read(&lists, &store).len(), 2);
        assert_eq!(read(&lists, &old), old.keys);
        assert_eq!((read(&lists, &store).len(), store.read.get()), (2, 0));
    }

    #[test]
    fn a_list_that_differs_from_its_record_is_damaged() {
        struct LossyStore<'a>(&'a FakeStore);
        impl ChunkListReader for LossyStore<'_> {
            type Error = Error;
            fn recorded(&mut self) -> Result<ListState, Error> {
                (&mut &*self.0).recorded()
            }
            fn newest(&mut self) -> Result<i64, Error> {
                Ok(self.0.newest)
            }
            fn keys_since(&mut self, _: i64) -> Result<Vec<ChunkKey>, Error> {
                Ok(Vec::new())
            }
            fn keys(&mut self, _: Option<i64>) -> Result<Vec<ChunkKey>, Error> {
                Ok(self.0.keys[1..].to_vec())
            }
        }
        let mut store = FakeStore::default();
        (0..3).for_each(|slice| store.add(slice * 10));
        let damaged = ChunkLists::default().read(TABLE, &mut LossyStore(&store)).unwrap_err();
        assert_eq!(damaged.kind(), crate::ErrorKind::Corrupt);
        store.keys.swap(0, 1);
        let disorder = ChunkLists::default().read(TABLE, &mut &store).unwrap_err();
        assert!(disorder.to_string().contains("disorder"), "{disorder}");
    }

    #[test]
    fn a_range_finds_exactly_the_chunks_that_overlap_it() {
        // The first chunk of the first slice reaches far: slices may have been wider.
        let keys = vec![key(5, 0, 0, 95), key(6, 0, 2, 9), key(1, 10, 10, 19), key(2, 20, 21, 22), key(3, 30, 30, 39)];
        let list = ChunkList::new(TABLE, keys.clone(), 6).unwrap();
        for start in [None, Some(-5), Some(0), Some(10), Some(20), Some(22), Some(23), Some(39), Some(40), Some(96)] {
            for end in [None, Some(-5), Some(0), Some(1), Some(21), Some(22), Some(30), Some(31), Some(100)] {
                let range = TimeRange { start, end };
                let expected: Vec<ChunkKey> =
                    keys.iter().filter(|key| range.overlaps(key.time_min, key.time_max)).copied().collect();
                assert_eq!(list.overlapping(range).copied().collect::<Vec<_>>(), expected, "{range:?}");
            }
        }
    }
}
