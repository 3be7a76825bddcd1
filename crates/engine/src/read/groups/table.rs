//! Assigns numbers to packed keys: 0, 1, 2, ... in the order of their arrival.

use atsdb_core::{Error, ErrorKind, Result};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Keys below this are looked up by position: indices of mapped columns nearly always are.
const DIRECT_MAX: u128 = 1 << 20;

/// A position without a group.
const FREE: u32 = u32::MAX;

/// The groups of keys.
#[derive(Debug, Default)]
pub(super) struct GroupTable {
    keys: Vec<u128>,
    /// The group of each small key.
    direct: Vec<u32>,
    /// The groups of the other keys.
    hashed: HashTable<u32>,
}

impl GroupTable {
    /// The group of a key; a new one, if it has none.
    pub(super) fn group(&mut self, key: u128) -> Result<u32> {
        let Self { keys, direct, hashed } = self;
        if key < DIRECT_MAX {
            let at = key as usize;
            if at >= direct.len() {
                direct.resize((at + 1).next_power_of_two(), FREE);
            }
            if direct[at] == FREE {
                direct[at] = push(keys, key)?;
            }
            return Ok(direct[at]);
        }
        let is_same = |group: &u32| keys[*group as usize] == key;
        match hashed.entry(hash(key), is_same, |group| hash(keys[*group as usize])) {
            Entry::Occupied(entry) => Ok(*entry.get()),
            Entry::Vacant(entry) => Ok(*entry.insert(push(keys, key)?).get()),
        }
    }

    /// The keys of all groups, by number.
    pub(super) fn keys(&self) -> &[u128] {
        &self.keys
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let numbers = self.direct.capacity() + self.hashed.allocation_size() / size_of::<u32>();
        self.keys.capacity() * size_of::<u128>() + numbers * size_of::<u32>()
    }
}

/// Assigns the next number to a key.
fn push(keys: &mut Vec<u128>, key: u128) -> Result<u32> {
    match u32::try_from(keys.len()) {
        Ok(FREE) | Err(_) => Err(Error::new(ErrorKind::Resources, "a query has more than 4,294,967,294 groups")),
        Ok(group) => {
            keys.push(key);
            Ok(group)
        }
    }
}

/// Both halves are multiplied and folded, so that each bit of a key reaches all bits of the hash.
fn hash(key: u128) -> u64 {
    let fold = |product: u128| (product as u64) ^ (product >> 64) as u64;
    let low = fold(u128::from(key as u64 ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93);
    let high = fold(u128::from((key >> 64) as u64 ^ 0xc2b2_ae3d_27d4_eb4f) * 0xa076_1d64_78bd_642f);
    low ^ high.rotate_left(32)
}
