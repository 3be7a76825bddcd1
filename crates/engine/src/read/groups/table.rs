//! Assigns numbers to packed keys: 0, 1, 2, ... in the order of their arrival.

use super::hash_index::{BLOCK_KEYS, FREE, HashIndex};
use super::packed_key::PackedKey;
use atsdb_core::{Error, ErrorKind, Result};

/// The maximum number of bits of a key that is looked up by position. Most keys of mapped columns and small integers
/// have fewer.
const DIRECT_BITS_MAX: u32 = 22;

/// The groups of keys.
#[derive(Debug, Clone)]
pub(super) struct GroupTable<K> {
    keys: Vec<K>,
    index: KeyLookup,
}

/// Finds the group of a key.
#[derive(Debug, Clone)]
enum KeyLookup {
    /// The key is the position of its group. The array is long enough for the largest key so far.
    Direct(Vec<u32>),
    Hashed(HashIndex),
    /// Groups are complete, and no more keys are looked up.
    Closed,
}

impl<K: PackedKey> GroupTable<K> {
    /// Creates an empty table for keys of this many bits.
    pub(super) fn new(bits: u32) -> Self {
        let index = match bits <= DIRECT_BITS_MAX {
            true => KeyLookup::Direct(Vec::new()),
            false => KeyLookup::Hashed(HashIndex::default()),
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
                for block in keys.chunks(BLOCK_KEYS) {
                    hashed_groups(&mut self.keys, hashed, block, groups)?;
                }
            }
            KeyLookup::Closed => return Err(Error::internal("keys are looked up among groups that are complete")),
        }
        Ok(())
    }

    /// Makes room for this many groups in all.
    pub(super) fn reserve(&mut self, group_count: usize) {
        self.keys.reserve(group_count.saturating_sub(self.keys.len()));
        if let KeyLookup::Hashed(hashed) = &mut self.index {
            hashed.reserve(group_count);
        }
    }

    /// The keys of all groups, by number.
    pub(super) fn keys(&self) -> &[K] {
        &self.keys
    }

    /// Returns whether keys are looked up by their hashes.
    pub(super) fn is_hashed(&self) -> bool {
        matches!(self.index, KeyLookup::Hashed(_))
    }

    /// Removes all groups, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        match &mut self.index {
            KeyLookup::Direct(direct) => direct.clear(),
            KeyLookup::Hashed(hashed) => hashed.clear(),
            KeyLookup::Closed => {}
        }
    }

    /// Frees the memory that is needed only for looking up keys.
    pub(super) fn close(&mut self) {
        self.index = KeyLookup::Closed;
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let index = match &self.index {
            KeyLookup::Direct(direct) => direct.capacity() * size_of::<u32>(),
            KeyLookup::Hashed(hashed) => hashed.memory_bytes(),
            KeyLookup::Closed => 0,
        };
        self.keys.capacity() * size_of::<K>() + index
    }
}

/// Appends the groups of at most [`BLOCK_KEYS`] keys, which are looked up by hash. The likely group of each key is
/// found and its key compared before any key gets a new group. These reads of memory do not depend on each other, so
/// that the processor waits for many of them at the same time.
fn hashed_groups<K: PackedKey>(
    own: &mut Vec<K>,
    index: &mut HashIndex,
    keys: &[K],
    groups: &mut Vec<u32>,
) -> Result<()> {
    let mut hashes = [0; BLOCK_KEYS];
    for (hash, key) in hashes.iter_mut().zip(keys) {
        *hash = key.hash();
    }
    let likely = index.likely_groups(&hashes);
    let mut is_known = [false; BLOCK_KEYS];
    for ((is_known, group), key) in is_known.iter_mut().zip(&likely).zip(keys) {
        *is_known = own.get(*group as usize) == Some(key);
    }
    for (row, key) in keys.iter().enumerate() {
        if is_known[row] {
            groups.push(likely[row]);
            continue;
        }
        groups.push(match index.find(hashes[row], |group| own[group as usize] == *key) {
            Ok(group) => group,
            Err(at) => {
                let group = push(own, *key)?;
                index.insert(at, hashes[row], group);
                group
            }
        });
    }
    Ok(())
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
