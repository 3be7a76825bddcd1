//! Assigns numbers to packed keys: 0, 1, 2, ... in the order of their arrival.

use super::packed_key::PackedKey;
use atsdb_core::{Error, ErrorKind, Result};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Keys of at most this many bits are looked up by position. Most keys of mapped columns and small integers have fewer.
const DIRECT_BITS_MAX: u32 = 22;

/// A position without a group.
const FREE: u32 = u32::MAX;

/// The groups of keys.
#[derive(Debug, Clone)]
pub(super) struct GroupTable<K> {
    keys: Vec<K>,
    index: KeyLookup<K>,
}

/// Finds the group of a key.
#[derive(Debug, Clone)]
enum KeyLookup<K> {
    /// The key is the position of its group. The array is long enough for the largest key so far.
    Direct(Vec<u32>),
    Hashed(HashTable<(K, u32)>),
}

impl<K: PackedKey> GroupTable<K> {
    /// Creates an empty table for keys of this many bits.
    pub(super) fn new(bits: u32) -> Self {
        let index = match bits <= DIRECT_BITS_MAX {
            true => KeyLookup::Direct(Vec::new()),
            false => KeyLookup::Hashed(HashTable::new()),
        };
        Self { keys: Vec::new(), index }
    }

    /// The groups of some keys. A key without a group gets a new one.
    pub(super) fn groups(&mut self, keys: &[K], groups: &mut Vec<u32>) -> Result<()> {
        groups.clear();
        groups.reserve(keys.len());
        match &mut self.index {
            KeyLookup::Direct(direct) => {
                let position = |key: &K| key.bits_from(0) as usize;
                groups.extend(keys.iter().map(|key| direct.get(position(key)).copied().unwrap_or(FREE)));
                // Few keys are new, so most often there is nothing more to do.
                if !groups.contains(&FREE) {
                    return Ok(());
                }
                for (key, group) in keys.iter().zip(groups.iter_mut()).filter(|(_, group)| **group == FREE) {
                    let at = position(key);
                    if at >= direct.len() {
                        direct.resize((at + 1).next_power_of_two(), FREE);
                    }
                    if direct[at] == FREE {
                        direct[at] = push(&mut self.keys, *key)?;
                    }
                    *group = direct[at];
                }
            }
            KeyLookup::Hashed(hashed) => {
                for key in keys {
                    let is_same = |(other, _): &(K, u32)| other == key;
                    let group = match hashed.entry(key.hash(), is_same, |(other, _)| other.hash()) {
                        Entry::Occupied(entry) => entry.get().1,
                        Entry::Vacant(entry) => entry.insert((*key, push(&mut self.keys, *key)?)).get().1,
                    };
                    groups.push(group);
                }
            }
        }
        Ok(())
    }

    /// The keys of all groups, by number.
    pub(super) fn keys(&self) -> &[K] {
        &self.keys
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let index = match &self.index {
            KeyLookup::Direct(direct) => direct.capacity() * size_of::<u32>(),
            KeyLookup::Hashed(hashed) => hashed.allocation_size(),
        };
        self.keys.capacity() * size_of::<K>() + index
    }
}

/// Gives a key the next number.
fn push<K>(keys: &mut Vec<K>, key: K) -> Result<u32> {
    match u32::try_from(keys.len()) {
        Ok(FREE) | Err(_) => Err(Error::new(ErrorKind::Resources, "a query has more than 4,294,967,294 groups")),
        Ok(group) => {
            keys.push(key);
            Ok(group)
        }
    }
}
