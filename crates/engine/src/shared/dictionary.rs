//! The dictionaries of mapped columns in this process: string to index for writers, index to string for readers.
//!
//! A dictionary here holds only committed strings, and the store never changes an index. So it is never wrong; it may
//! only be incomplete, and is then extended.

use crate::shared::interner::Interner;
use arrow::array::{Array, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use atsdb_core::limits::DICTIONARY_BYTES_MAX;
use atsdb_core::{ColumnId, Error, ErrorKind, MapWidth, Result, Snapshot, Store, TableId, refusal};
use hashbrown::{DefaultHashBuilder, HashTable};
use parking_lot::{Mutex, RwLock};
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A process adds this many bytes of strings to a dictionary before it reads the total of all processes from the store.
const UNCHECKED_BYTES_MAX: u64 = 16 << 20;

/// A dictionary keeps interners for later writers up to this many bytes. They hold no strings that `written` lacks.
const KEPT_BYTES_MAX: usize = 16 << 20;

/// All dictionaries of one engine.
#[derive(Default)]
pub(crate) struct Dictionaries {
    by_column: Mutex<HashMap<(TableId, ColumnId), Arc<Dictionary>>>,
}

impl Dictionaries {
    pub(crate) fn get(&self, table: TableId, column: ColumnId) -> Arc<Dictionary> {
        let mut by_column = self.by_column.lock();
        let dictionary = by_column.entry((table, column)).or_insert_with(|| Arc::new(Dictionary::new(table, column)));
        Arc::clone(dictionary)
    }

    pub(crate) fn forget(&self, table: TableId) {
        let mut by_column = self.by_column.lock();
        by_column.retain(|(of, _), _| *of != table);
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.by_column.lock().len()
    }
}

/// The dictionary of one mapped column.
pub(crate) struct Dictionary {
    table: TableId,
    column: ColumnId,
    /// The known first strings of the store's dictionary, in order of index.
    strings: RwLock<Arc<StringArray>>,
    /// String to index, for the strings that writers of this process have used.
    written: RwLock<StringIndex>,
    /// The interners that writers have left, for the next ones.
    kept: Mutex<Vec<Interner>>,
    /// The number of bytes of `written` up to which the dictionary is known to have room.
    checked_bytes: AtomicU64,
}

#[derive(Default)]
struct StringIndex {
    hasher: DefaultHashBuilder,
    table: HashTable<(Box<[u8]>, u32)>,
    byte_count: u64,
}

impl Dictionary {
    fn new(table: TableId, column: ColumnId) -> Self {
        Self {
            table,
            column,
            strings: RwLock::new(Arc::new(StringArray::from(Vec::<&str>::new()))),
            written: RwLock::default(),
            kept: Mutex::default(),
            checked_bytes: AtomicU64::new(0),
        }
    }

    /// An interner for a writer. It knows the indices of strings that an earlier writer has used: these are committed,
    /// and have the same index under any definition. But whether a string is allowed may depend on the definition.
    pub(crate) fn interner(&self) -> Interner {
        self.kept.lock().pop().unwrap_or_else(Interner::new)
    }

    /// Keeps the interner of a writer for the next one, if all its strings are committed.
    pub(crate) fn keep(&self, interner: Interner) {
        let mut kept = self.kept.lock();
        let kept_bytes: usize = kept.iter().map(Interner::byte_count).sum();
        if interner.is_resolved() && kept_bytes + interner.byte_count() <= KEPT_BYTES_MAX {
            kept.push(interner);
        }
    }

    /// Refuses strings that would make the dictionary larger than readers can hold.
    pub(crate) fn check_room(&self, store: &dyn Store, strings: &[&[u8]]) -> Result<()> {
        self.check_bytes(store, strings, (UNCHECKED_BYTES_MAX, DICTIONARY_BYTES_MAX))
    }

    fn check_bytes(&self, store: &dyn Store, strings: &[&[u8]], (unchecked_max, bytes_max): (u64, u64)) -> Result<()> {
        let length = |string: &&[u8]| string.len() as u64;
        let checked = self.checked_bytes.load(Ordering::Relaxed).max(unchecked_max);
        let mut new: HashSet<&[u8]> = HashSet::new();
        let written_bytes = {
            let written = self.written.read();
            if written.byte_count + strings.iter().map(length).sum::<u64>() <= checked {
                return Ok(());
            }
            new.extend(strings.iter().filter(|string| written.find(string).is_none()));
            written.byte_count
        };
        let stored = match self.extended(store.snapshot()?.as_ref()) {
            Ok(strings) => strings,
            // The table is not visible yet, so no other process adds strings.
            Err(error) if error.kind() == ErrorKind::NotFound => Arc::new(StringArray::from(Vec::<&str>::new())),
            Err(error) => return Err(error),
        };
        // Strings that other processes have added need no further room.
        for string in stored.iter().flatten() {
            new.remove(string.as_bytes());
        }
        let new_bytes = new.iter().map(length).sum::<u64>();
        let stored_bytes = stored.value_data().len() as u64;
        let byte_count = stored_bytes.max(written_bytes) + new_bytes;
        if byte_count > bytes_max {
            let message = format!("its strings would have {byte_count} bytes; the maximum is {bytes_max}");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        self.checked_bytes.store(written_bytes + new_bytes + unchecked_max, Ordering::Relaxed);
        Ok(())
    }

    /// The store's indices of these strings. New strings are committed to the store first.
    pub(crate) fn indices(&self, store: &dyn Store, width: MapWidth, strings: &[&[u8]]) -> Result<Vec<u32>> {
        let mut indices = vec![0; strings.len()];
        let mut missing = Vec::new();
        {
            let written = self.written.read();
            for (position, string) in strings.iter().enumerate() {
                match written.find(string) {
                    Some(index) => indices[position] = index,
                    None => missing.push(position),
                }
            }
        }
        if missing.is_empty() {
            return Ok(indices);
        }
        let values: Vec<&[u8]> = missing.iter().map(|position| strings[*position]).collect();
        let added = store.map_values(self.table, self.column, width.capacity(), &values)?;
        if added.len() != missing.len() {
            return Err(Error::internal("the store returned another number of indices than strings"));
        }
        let mut written = self.written.write();
        for (position, index) in missing.into_iter().zip(added) {
            indices[position] = index;
            written.add(strings[position], index);
        }
        Ok(indices)
    }

    /// The strings in order of index, at least the first `count`.
    pub(crate) fn strings(&self, snapshot: &dyn Snapshot, count: usize) -> Result<Arc<StringArray>> {
        let known = Arc::clone(&self.strings.read());
        if known.len() >= count {
            return Ok(known);
        }
        let extended = self.extended(snapshot)?;
        if extended.len() >= count {
            return Ok(extended);
        }
        // A store has no strings of a table that another writer has dropped.
        if !snapshot.tables()?.iter().any(|table| table.id == self.table) {
            return Err(refusal::no_table(self.table));
        }
        let message = format!("it has {} strings, but a chunk uses {count}", extended.len());
        Err(Error::corrupt(message).context(self.label()))
    }

    /// The strings in order of index, at least the first `count`, which rows of this process may use before their table
    /// is visible.
    pub(crate) fn strings_in_use(&self, store: &dyn Store, count: usize) -> Result<Arc<StringArray>> {
        let known = Arc::clone(&self.strings.read());
        if known.len() >= count {
            return Ok(known);
        }
        match store.snapshot().and_then(|snapshot| self.strings(snapshot.as_ref(), count)) {
            Ok(strings) => Ok(strings),
            // All strings of a table that is not visible come from this process.
            Err(error) => self.written_strings(count).ok_or(error),
        }
    }

    /// The first strings, if this process has written all of them.
    fn written_strings(&self, count: usize) -> Option<Arc<StringArray>> {
        let written = self.written.read();
        let mut strings: Vec<Option<&str>> = vec![None; count];
        for (string, index) in &written.table {
            if let Some(place) = strings.get_mut(usize::try_from(*index).ok()?) {
                *place = Some(std::str::from_utf8(string).ok()?);
            }
        }
        let strings = strings.into_iter().collect::<Option<Vec<&str>>>()?;
        Some(Arc::new(StringArray::from(strings)))
    }

    fn label(&self) -> String {
        format!("dictionary of table {} column {}", self.table.0, self.column.0)
    }

    /// The known strings, extended by those of the snapshot.
    fn extended(&self, snapshot: &dyn Snapshot) -> Result<Arc<StringArray>> {
        let known = Arc::clone(&self.strings.read());
        let first = u32::try_from(known.len()).map_err(|_| Error::internal(self.label()))?;
        let more = snapshot.mapping(self.table, self.column, first)?;
        let extended = Arc::new(extend(&known, &more).map_err(|error| error.context(self.label()))?);
        let mut strings = self.strings.write();
        if strings.len() < extended.len() {
            *strings = Arc::clone(&extended);
        }
        Ok(extended)
    }
}

impl StringIndex {
    fn find(&self, string: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(string);
        self.table.find(hash, |(known, _)| **known == *string).map(|(_, index)| *index)
    }

    fn add(&mut self, string: &[u8], index: u32) {
        if self.find(string).is_none() {
            let hash = self.hasher.hash_one(string);
            let Self { hasher, table, byte_count } = self;
            *byte_count += string.len() as u64;
            table.insert_unique(hash, (string.into(), index), |(known, _)| hasher.hash_one(&**known));
        }
    }
}

fn extend(known: &StringArray, more: &[Vec<u8>]) -> Result<StringArray> {
    let too_long = || Error::new(ErrorKind::Limit, "it holds more than 2 GiB of strings");
    let mut bytes = known.value_data().to_vec();
    let mut offsets = known.value_offsets().to_vec();
    for string in more {
        bytes.extend_from_slice(string);
        offsets.push(i32::try_from(bytes.len()).map_err(|_| too_long())?);
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    StringArray::try_new(offsets, Buffer::from_vec(bytes), None)
        .map_err(|error| Error::corrupt("it has a string that is not valid UTF-8").with_source(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::{ColumnType, TableDefinition};
    use atsdb_memory::MemoryStore;

    #[test]
    fn an_interner_is_kept_only_with_committed_strings_and_within_the_limit() {
        let dictionary = Dictionary::new(TableId(1), ColumnId(1));
        let mut interner = dictionary.interner();
        interner.intern(b"a");
        interner.resolve(&[7]);
        dictionary.keep(interner);
        let mut interner = dictionary.interner();
        assert_eq!((interner.intern(b"a"), interner.indices()), (0, [7].as_slice()), "the string is known");
        interner.intern(b"b");
        dictionary.keep(interner);
        assert!(dictionary.interner().indices().is_empty(), "\"b\" has no index");
        let long = "x".repeat(KEPT_BYTES_MAX / 2 - 100);
        for _ in 0..3 {
            let mut interner = Interner::new();
            interner.intern(long.as_bytes());
            interner.resolve(&[8]);
            dictionary.keep(interner);
        }
        assert_eq!(dictionary.kept.lock().len(), 2);
    }

    #[test]
    fn strings_beyond_what_readers_can_hold_are_refused_whoever_added_the_others() {
        let store = MemoryStore::new([7; 16]);
        let definition = TableDefinition::new("t").with_column("s", ColumnType::Text, Some(MapWidth::U32));
        let table = store.create_table(&definition, None).unwrap();
        let column = table.definition.columns[0].id;
        // Two processes; each may add 20 bytes without asking the store, and all together 100.
        let processes = [Dictionary::new(table.id, column), Dictionary::new(table.id, column)];
        let add = |process: &Dictionary, string: &str| {
            process.check_bytes(&store, &[string.as_bytes()], (20, 100))?;
            process.indices(&store, MapWidth::U32, &[string.as_bytes()]).map(drop)
        };
        let mut added = Vec::new();
        for n in 0..20 {
            let string = format!("string {n:03}");
            match add(&processes[n % 2], &string) {
                Ok(()) => added.push(string),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Limit, "{error}"),
            }
        }
        let bytes: usize = added.iter().map(String::len).sum();
        assert!((80..=120).contains(&bytes), "{bytes} bytes");
        for string in &added {
            processes.iter().for_each(|process| add(process, string).unwrap());
        }
        assert_eq!(add(&processes[0], &"x".repeat(101)).unwrap_err().kind(), ErrorKind::Limit);
        let snapshot = store.snapshot().unwrap();
        assert_eq!(processes[0].strings(snapshot.as_ref(), added.len()).unwrap().len(), added.len());
    }
}
