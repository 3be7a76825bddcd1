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

    fn group_of(&mut self, key: K) -> Result<u32> {
        let mut groups = Vec::with_capacity(1);
        self.table.groups(&[key], &mut groups)?;
        Ok(groups[0])
    }

    fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.packed.capacity() * size_of::<K>()
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

    /// Returns the own group for each group of `other`. A key without a group gets a new one.
    pub(super) fn groups_of(&mut self, other: &Self, groups: &mut Vec<u32>) -> Result<()> {
        match (self, other) {
            (Self::Narrow(keys), Self::Narrow(other)) => keys.table.groups(other.table.keys(), groups),
            (Self::Wide(keys), Self::Wide(other)) => keys.table.groups(other.table.keys(), groups),
            _ => Err(Error::internal("groups with keys of two widths are merged")),
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
