//! An index of the keys of one table as one batch sees them, for many small statements that each must know at once
//! whether their row's key exists.
//!
//! The index holds the keys of the rows that were added to it. It reads the keys of a chunk when a row first needs it,
//! that is, when the chunk's statistics allow the row's key ([`unread`](super::unread)). Rows that arrive in order read
//! no chunk.

use crate::batch::keys::key::{Key, KeyValue};
use crate::batch::keys::key_set::{KeyRow, KeySet};
use crate::batch::keys::unread::UnreadChunks;
use crate::read::scan::{Scan, ScanRequest};
use crate::read::snapshot::ReadSnapshot;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::*;
use atsdb_core::{Error, Result, Table, TimeRange};

/// The maximum number of keys. An index with more is [full](KeyIndex::is_full).
const KEYS_MAX: usize = 4 << 20;
/// The maximum size of the keys in bytes. An index with more is full, too.
const KEY_BYTES_MAX: usize = 128 << 20;

/// The keys of a table as a batch sees it.
pub struct KeyIndex {
    table: Table,
    scan: Scan,
    keys: Vec<IndexedKey>,
}

struct IndexedKey {
    key: Key,
    known: KeySet,
    unread: UnreadChunks,
    /// The key of the row that is being added.
    row: KeyRow,
}

impl KeyIndex {
    pub(super) fn new(table: &Table, snapshot: &ReadSnapshot) -> Result<Self> {
        let definition = &table.definition;
        let keys = Key::all_of(definition)?;
        let mut columns: Vec<usize> = keys.iter().flat_map(|key| key.positions.iter().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        let request = ScanRequest { columns, range: TimeRange::ALL, predicates: Vec::new(), use_cache: true };
        let scan = snapshot.scan(table, &request)?;
        let indexed = |key: Key| {
            let unread = UnreadChunks::new(definition, &key, scan.chunks());
            IndexedKey { known: KeySet::default(), unread, row: KeyRow::new(key.nulls_equal), key }
        };
        let keys = keys.into_iter().map(indexed).collect();
        Ok(Self { table: table.clone(), scan, keys })
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Adds the keys of a row. `value` returns the row's value in the column at a position of the table. Returns false,
    /// and adds nothing, if one of the keys exists.
    pub fn add<'a>(&mut self, value: impl Fn(usize) -> KeyValue<'a>) -> Result<bool> {
        for at in 0..self.keys.len() {
            let IndexedKey { key, row, .. } = &mut self.keys[at];
            row.clear();
            key.positions.iter().for_each(|position| row.push(value(*position)));
            if row.has_null() {
                continue;
            }
            while let Some(chunk) = self.keys[at].next_chunk(&value) {
                self.read(chunk)?;
            }
            let IndexedKey { known, row, .. } = &mut self.keys[at];
            if known.contains(row) {
                return Ok(false);
            }
        }
        self.keys.iter_mut().filter(|key| !key.row.has_null()).for_each(|key| key.known.insert(&key.row));
        Ok(true)
    }

    /// Returns whether the index is so large that it should be replaced by a new one.
    pub fn is_full(&self) -> bool {
        self.keys.iter().any(|key| key.known.len() > KEYS_MAX || key.known.byte_count() > KEY_BYTES_MAX)
    }

    /// Reads the keys of a chunk into the index.
    fn read(&mut self, chunk: usize) -> Result<()> {
        for IndexedKey { key, known, unread, .. } in &mut self.keys {
            unread.remove(chunk);
            let columns = self.scan.read_stored(chunk, &key.positions)?;
            let texts: Vec<_> =
                key.positions.iter().map(|position| self.scan.dictionaries[*position].as_deref()).collect();
            let mut row = KeyRow::new(key.nulls_equal);
            for number in 0..columns.first().map_or(0, |array| array.len()) {
                row.clear();
                for (array, texts) in columns.iter().zip(&texts) {
                    row.push(stored_value(array, *texts, number)?);
                }
                if !row.has_null() && !known.contains(&row) {
                    known.insert(&row);
                }
            }
        }
        Ok(())
    }
}

impl IndexedKey {
    /// A chunk that may have the row's key and has not been read.
    fn next_chunk<'a>(&self, value: &impl Fn(usize) -> KeyValue<'a>) -> Option<usize> {
        self.unread.find(|column| value(self.key.positions[column]))
    }
}

/// The value of a row in stored form. `texts` are the strings of a mapped column.
fn stored_value<'a>(
    array: &'a ArrayRef,
    texts: Option<&'a arrow::array::StringArray>,
    row: usize,
) -> Result<KeyValue<'a>> {
    if array.is_null(row) {
        return Ok(KeyValue::Null);
    }
    if let Some(texts) = texts {
        let index = match array.data_type() {
            DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row) as usize,
            DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row) as usize,
            _ => array.as_primitive::<UInt32Type>().value(row) as usize,
        };
        return match index < texts.len() {
            true => Ok(KeyValue::Bytes(texts.value(index).as_bytes())),
            false => Err(Error::corrupt(format!("a row has index {index} of a dictionary of {} strings", texts.len()))),
        };
    }
    use arrow::datatypes::TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    Ok(match array.data_type() {
        DataType::Boolean => KeyValue::Int(array.as_boolean().value(row).into()),
        DataType::Int8 => KeyValue::Int(array.as_primitive::<Int8Type>().value(row).into()),
        DataType::Int16 => KeyValue::Int(array.as_primitive::<Int16Type>().value(row).into()),
        DataType::Int32 => KeyValue::Int(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => KeyValue::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt8 => KeyValue::UInt(array.as_primitive::<UInt8Type>().value(row).into()),
        DataType::UInt16 => KeyValue::UInt(array.as_primitive::<UInt16Type>().value(row).into()),
        DataType::UInt32 => KeyValue::UInt(array.as_primitive::<UInt32Type>().value(row).into()),
        DataType::UInt64 => KeyValue::UInt(array.as_primitive::<UInt64Type>().value(row)),
        DataType::Date32 => KeyValue::Int(array.as_primitive::<Date32Type>().value(row).into()),
        DataType::Timestamp(Second, _) => KeyValue::Int(array.as_primitive::<TimestampSecondType>().value(row)),
        DataType::Timestamp(Millisecond, _) => {
            KeyValue::Int(array.as_primitive::<TimestampMillisecondType>().value(row))
        }
        DataType::Timestamp(Microsecond, _) => {
            KeyValue::Int(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::Timestamp(Nanosecond, _) => KeyValue::Int(array.as_primitive::<TimestampNanosecondType>().value(row)),
        DataType::Float32 => KeyValue::Float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => KeyValue::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => KeyValue::Bytes(array.as_string::<i32>().value(row).as_bytes()),
        DataType::Binary => KeyValue::Bytes(array.as_binary::<i32>().value(row)),
        other => return Err(Error::internal(format!("{other} in a key"))),
    })
}
