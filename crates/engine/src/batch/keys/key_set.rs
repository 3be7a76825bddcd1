//! A set of keys, each the bytes of its values.

use crate::batch::keys::key::KeyValue;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// The key of one row as bytes. Keys that are equal in SQL have the same bytes.
#[derive(Debug, Default)]
pub(crate) struct KeyRow {
    bytes: Vec<u8>,
    has_null: bool,
    /// Whether a NULL equals another NULL. If so, a byte before each value marks NULL.
    nulls_equal: bool,
}

/// A set of keys.
#[derive(Debug, Default)]
pub(crate) struct KeySet {
    hasher: DefaultHashBuilder,
    table: HashTable<u32>,
    bytes: Vec<u8>,
    /// The end of each key's bytes.
    ends: Vec<usize>,
}

impl KeyRow {
    pub(crate) fn new(nulls_equal: bool) -> Self {
        Self { nulls_equal, ..Self::default() }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.has_null = false;
    }

    /// Adds the value of the next column. Each column of a key has one type, so the bytes need no type tag.
    pub(crate) fn push(&mut self, value: KeyValue<'_>) {
        if self.nulls_equal {
            self.bytes.push(u8::from(value == KeyValue::Null));
        }
        match value {
            KeyValue::Null => self.has_null |= !self.nulls_equal,
            KeyValue::Int(value) => self.bytes.extend_from_slice(&value.to_le_bytes()),
            KeyValue::UInt(value) => self.bytes.extend_from_slice(&value.to_le_bytes()),
            // In SQL 0.0 equals -0.0, and all NaNs are equal.
            KeyValue::Float(value) => {
                let normal = if value.is_nan() { f64::NAN } else { value + 0.0 };
                self.bytes.extend_from_slice(&normal.to_bits().to_le_bytes());
            }
            KeyValue::Bytes(value) => {
                self.bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
                self.bytes.extend_from_slice(value);
            }
        }
    }

    /// Returns whether one of the values is a NULL that equals no other NULL. The key then equals no other key.
    pub(crate) fn has_null(&self) -> bool {
        self.has_null
    }
}

impl KeySet {
    pub(crate) fn contains(&self, row: &KeyRow) -> bool {
        let hash = self.hasher.hash_one(row.bytes.as_slice());
        self.table.find(hash, |number| key(&self.bytes, &self.ends, *number) == row.bytes.as_slice()).is_some()
    }

    /// Adds a key that the set does not contain.
    pub(crate) fn insert(&mut self, row: &KeyRow) {
        let Self { hasher, table, bytes, ends } = self;
        let number = ends.len() as u32;
        bytes.extend_from_slice(&row.bytes);
        ends.push(bytes.len());
        let hash = hasher.hash_one(row.bytes.as_slice());
        table.insert_unique(hash, number, |number| hasher.hash_one(key(bytes, ends, *number)));
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn byte_count(&self) -> usize {
        self.bytes.len()
    }
}

fn key<'a>(bytes: &'a [u8], ends: &[usize], number: u32) -> &'a [u8] {
    let number = number as usize;
    let start = if number == 0 { 0 } else { ends[number - 1] };
    &bytes[start..ends[number]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[KeyValue<'_>]) -> KeyRow {
        let mut row = KeyRow::default();
        values.iter().for_each(|value| row.push(*value));
        row
    }

    #[test]
    fn keys_are_the_same_where_their_values_are() {
        use KeyValue::{Bytes, Float, Int, Null};
        let mut keys = KeySet::default();
        for values in [[Bytes(b"a"), Bytes(b"bc")], [Float(0.0), Int(1)], [Float(f64::NAN), Int(1)]] {
            keys.insert(&row(&values));
        }
        assert!(
            keys.contains(&row(&[Bytes(b"a"), Bytes(b"bc")])) && !keys.contains(&row(&[Bytes(b"ab"), Bytes(b"c")]))
        );
        assert!(keys.contains(&row(&[Float(-0.0), Int(1)])) && keys.contains(&row(&[Float(-f64::NAN), Int(1)])));
        assert!(!keys.contains(&row(&[Float(1.0), Int(1)])));
        assert!(row(&[Null, Int(1)]).has_null() && !row(&[Int(1)]).has_null());
        assert_eq!(keys.len(), 3);
        let equal = |values: &[KeyValue<'_>]| {
            let mut row = KeyRow::new(true);
            values.iter().for_each(|value| row.push(*value));
            row
        };
        keys.insert(&equal(&[Null, Int(1)]));
        assert!(keys.contains(&equal(&[Null, Int(1)])) && !equal(&[Null, Int(1)]).has_null());
        assert!(!keys.contains(&equal(&[Int(1), Null])) && !keys.contains(&equal(&[Int(0), Int(1)])));
    }
}
