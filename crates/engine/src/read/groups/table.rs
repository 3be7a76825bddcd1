//! Assigns numbers to packed keys: 0, 1, 2, ... in the order of their arrival.

use super::packed_key::PackedKey;
use atsdb_core::{Error, ErrorKind, Result};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Keys of so many bits are looked up by position: those of mapped columns and small integers nearly always are.
const DIRECT_BITS_MAX: u32 = 22;

/// A position without a group.
const FREE: u32 = u32::MAX;

/// The groups of keys.
#[derive(Debug, Clone)]
pub(super) struct GroupTable<K> {
    keys: Vec<K>,
    index: Index<K>,
}

/// Where the group of a key is found.
#[derive(Debug, Clone)]
enum Index<K> {
    /// At the position that the key is, as far as they came.
    Direct(Vec<u32>),
    Hashed(HashTable<(K, u32)>),
}

impl<K: PackedKey> GroupTable<K> {
    /// For keys of so many bits.
    pub(super) fn new(bits: u32) -> Self {
        let index = match bits <= DIRECT_BITS_MAX {
            true => Index::Direct(Vec::new()),
            false => Index::Hashed(HashTable::new()),
        };
        Self { keys: Vec::new(), index }
    }

    /// The groups of some keys; new ones for keys that have none.
    pub(super) fn groups(&mut self, keys: &[K], groups: &mut Vec<u32>) -> Result<()> {
        groups.clear();
        groups.reserve(keys.len());
        match &mut self.index {
            Index::Direct(direct) => {
                for key in keys {
                    let at = key.bits_from(0) as usize;
                    let mut group = direct.get(at).copied().unwrap_or(FREE);
                    if group == FREE {
                        group = push(&mut self.keys, *key)?;
                        if at >= direct.len() {
                            direct.resize((at + 1).next_power_of_two(), FREE);
                        }
                        direct[at] = group;
                    }
                    groups.push(group);
                }
            }
            Index::Hashed(hashed) => {
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
            Index::Direct(direct) => direct.capacity() * size_of::<u32>(),
            Index::Hashed(hashed) => hashed.allocation_size(),
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
