//! The groups of rows by packed keys, which have 64 bits if that is enough.

use super::key::{GroupKey, Packing, RowPositions};
use super::packed_key::PackedKey;
use super::table::GroupTable;
use arrow::array::{ArrayRef, RecordBatch};
use atsdb_core::{Error, Result};
use std::ops::Range;

/// The groups, by keys of one of two widths.
#[derive(Debug, Clone)]
pub(super) enum KeyedGroups {
    Narrow(PackedGroups<u64>),
    Wide(PackedGroups<u128>),
}

/// The keys of some groups, of one of two widths.
#[derive(Debug, Clone)]
pub(super) enum KeyList {
    Narrow(Vec<u64>),
    Wide(Vec<u128>),
}

/// The keys of groups that are held elsewhere.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeySlice<'a> {
    Narrow(&'a [u64]),
    Wide(&'a [u128]),
}

/// The groups by keys of one width.
#[derive(Debug, Clone)]
pub(super) struct PackedGroups<K> {
    table: GroupTable<K>,
    /// The keys of the current rows.
    packed: Vec<K>,
}

impl<K: PackedKey> PackedGroups<K> {
    fn new(packing: &Packing) -> Self {
        Self { table: GroupTable::new(packing.bits()), packed: Vec::new() }
    }

    fn groups(
        &mut self,
        packing: &Packing,
        batch: &RecordBatch,
        rows: RowPositions<'_>,
        groups: &mut Vec<u32>,
    ) -> Result<()> {
        packing.pack(batch, rows, &mut self.packed)?;
        self.table.groups(&self.packed, groups)
    }

    /// The groups of keys that are all different, so that there are at least as many groups afterwards.
    fn groups_of(&mut self, keys: &[K], groups: &mut Vec<u32>) -> Result<()> {
        self.table.reserve(keys.len());
        self.table.groups(keys, groups)
    }

    fn group_of(&mut self, key: K) -> Result<u32> {
        let mut groups = Vec::with_capacity(1);
        self.table.groups(&[key], &mut groups)?;
        Ok(groups[0])
    }

    fn close(&mut self) {
        self.table.close();
        self.packed = Vec::new();
    }

    fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.packed.capacity() * size_of::<K>()
    }
}

impl KeyList {
    pub(super) fn as_slice(&self) -> KeySlice<'_> {
        match self {
            Self::Narrow(keys) => KeySlice::Narrow(keys),
            Self::Wide(keys) => KeySlice::Wide(keys),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Self::Narrow(keys) => keys.capacity() * size_of::<u64>(),
            Self::Wide(keys) => keys.capacity() * size_of::<u128>(),
        }
    }
}

impl KeyedGroups {
    pub(super) fn new(packing: &Packing) -> Self {
        match packing.bits() <= u64::BITS {
            true => Self::Narrow(PackedGroups::new(packing)),
            false => Self::Wide(PackedGroups::new(packing)),
        }
    }

    /// The groups of some rows of a batch. A key without a group gets a new one.
    pub(super) fn groups(
        &mut self,
        packing: &Packing,
        batch: &RecordBatch,
        rows: RowPositions<'_>,
        groups: &mut Vec<u32>,
    ) -> Result<()> {
        match self {
            Self::Narrow(keys) => keys.groups(packing, batch, rows, groups),
            Self::Wide(keys) => keys.groups(packing, batch, rows, groups),
        }
    }

    /// The group of rows that all have the same keys, if that is known; see [`Packing::pack_constants`].
    pub(super) fn constant_group(
        &mut self,
        packing: &Packing,
        constant: impl Fn(&GroupKey) -> Option<Option<u64>>,
    ) -> Result<Option<u32>> {
        match self {
            Self::Narrow(keys) => packing.pack_constants(constant).map(|key| keys.group_of(key)).transpose(),
            Self::Wide(keys) => packing.pack_constants(constant).map(|key| keys.group_of(key)).transpose(),
        }
    }

    /// Returns the own group for each key of other groups, all of which are different. A key without a group gets a new
    /// one.
    pub(super) fn groups_of(&mut self, other: KeySlice<'_>, groups: &mut Vec<u32>) -> Result<()> {
        match (self, other) {
            (Self::Narrow(keys), KeySlice::Narrow(other)) => keys.groups_of(other, groups),
            (Self::Wide(keys), KeySlice::Wide(other)) => keys.groups_of(other, groups),
            _ => Err(Error::internal("groups with keys of two widths are merged")),
        }
    }

    /// The keys of all groups, by number.
    pub(super) fn keys(&self) -> KeySlice<'_> {
        match self {
            Self::Narrow(keys) => KeySlice::Narrow(keys.table.keys()),
            Self::Wide(keys) => KeySlice::Wide(keys.table.keys()),
        }
    }

    /// Returns whether keys are looked up by their hashes.
    pub(super) fn is_hashed(&self) -> bool {
        match self {
            Self::Narrow(keys) => keys.table.is_hashed(),
            Self::Wide(keys) => keys.table.is_hashed(),
        }
    }

    /// Removes all groups, and keeps the memory.
    pub(super) fn clear(&mut self) {
        match self {
            Self::Narrow(keys) => keys.table.clear(),
            Self::Wide(keys) => keys.table.clear(),
        }
    }

    /// Frees the memory that is needed only for looking up keys.
    pub(super) fn close(&mut self) {
        match self {
            Self::Narrow(keys) => keys.close(),
            Self::Wide(keys) => keys.close(),
        }
    }

    pub(super) fn unpack(&self, packing: &Packing, groups: Range<usize>) -> Result<Vec<ArrayRef>> {
        Ok(match self {
            Self::Narrow(keys) => packing.unpack(&keys.table.keys()[groups])?,
            Self::Wide(keys) => packing.unpack(&keys.table.keys()[groups])?,
        })
    }

    /// The number of groups.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Narrow(keys) => keys.table.keys().len(),
            Self::Wide(keys) => keys.table.keys().len(),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Self::Narrow(keys) => keys.memory_bytes(),
            Self::Wide(keys) => keys.memory_bytes(),
        }
    }
}
