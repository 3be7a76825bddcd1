//! The dictionaries of mapped columns in this process: string to index for writers, index to string for readers.
//!
//! Only what the store has committed is in here, and the store never changes an index, so that nothing here is
//! ever wrong; it may only be behind, and is then extended.

use crate::batch::Batch;
use arrow::array::{Array, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use atsdb_core::{Column, ColumnId, Error, ErrorKind, MapWidth, Result, Snapshot, Store, Table, TableId};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// All dictionaries of one engine.
#[derive(Default)]
pub(crate) struct Dictionaries {
    by_column: Mutex<HashMap<(TableId, ColumnId), Arc<Dictionary>>>,
}

impl Dictionaries {
    pub(crate) fn get(&self, table: TableId, column: ColumnId) -> Arc<Dictionary> {
        let mut by_column = self.by_column.lock().unwrap_or_else(PoisonError::into_inner);
        let dictionary = by_column.entry((table, column)).or_insert_with(|| Arc::new(Dictionary::new(table, column)));
        Arc::clone(dictionary)
    }

    pub(crate) fn forget(&self, table: TableId) {
        let mut by_column = self.by_column.lock().unwrap_or_else(PoisonError::into_inner);
        by_column.retain(|(of, _), _| *of != table);
    }
}

/// The dictionary of one mapped column.
pub(crate) struct Dictionary {
    table: TableId,
    column: ColumnId,
    /// The strings that are known to be the first ones of the store's, in order of index.
    strings: RwLock<Arc<StringArray>>,
    /// String to index, for the strings that writers here have asked for.
    written: RwLock<Written>,
}

#[derive(Default)]
struct Written {
    hasher: DefaultHashBuilder,
    table: HashTable<(Box<[u8]>, u32)>,
}

impl Dictionary {
    fn new(table: TableId, column: ColumnId) -> Self {
        Self {
            table,
            column,
            strings: RwLock::new(Arc::new(StringArray::from(Vec::<&str>::new()))),
            written: RwLock::default(),
        }
    }

    /// The store's indices of these strings; new ones are committed to the store first.
    pub(crate) fn indices(&self, store: &dyn Store, width: MapWidth, strings: &[&[u8]]) -> Result<Vec<u32>> {
        let mut indices = vec![0; strings.len()];
        let mut missing = Vec::new();
        {
            let written = self.written.read().unwrap_or_else(PoisonError::into_inner);
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
            return Err(Error::internal("the store gave indices for other strings"));
        }
        let mut written = self.written.write().unwrap_or_else(PoisonError::into_inner);
        for (position, index) in missing.into_iter().zip(added) {
            indices[position] = index;
            written.add(strings[position], index);
        }
        Ok(indices)
    }

    /// The strings by index, at least the first `count` of them.
    pub(crate) fn strings(&self, snapshot: &dyn Snapshot, count: usize) -> Result<Arc<StringArray>> {
        let known = Arc::clone(&self.strings.read().unwrap_or_else(PoisonError::into_inner));
        if known.len() >= count {
            return Ok(known);
        }
        let place = || format!("dictionary of table {} column {}", self.table.0, self.column.0);
        let first = u32::try_from(known.len()).map_err(|_| Error::internal(place()))?;
        let more = snapshot.mapping(self.table, self.column, first)?;
        let extended = Arc::new(extend(&known, &more).map_err(|error| error.context(place()))?);
        if extended.len() < count {
            let message = format!("it holds {} strings where a chunk uses {count}", extended.len());
            return Err(Error::corrupt(message).context(place()));
        }
        let mut strings = self.strings.write().unwrap_or_else(PoisonError::into_inner);
        if strings.len() < extended.len() {
            *strings = Arc::clone(&extended);
        }
        Ok(extended)
    }
}

impl Written {
    fn find(&self, string: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(string);
        self.table.find(hash, |(known, _)| **known == *string).map(|(_, index)| *index)
    }

    fn add(&mut self, string: &[u8], index: u32) {
        if self.find(string).is_none() {
            let hash = self.hasher.hash_one(string);
            let Self { hasher, table } = self;
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
        .map_err(|error| Error::corrupt("it holds bytes that are no UTF-8").with_source(error))
}

impl Batch {
    /// How many strings the dictionary of a mapped column has by now.
    pub fn mapped_count(&self, table: &Table, column: &Column) -> Result<usize> {
        let store = &self.engine.shared.store;
        let snapshot = match self.stage.filter(|_| self.changes.has_created(table.id)) {
            Some(stage) => store.stage_snapshot(stage)?,
            None => store.snapshot()?,
        };
        Ok(snapshot.mapping(table.id, column.id, 0)?.len())
    }
}
