//! Groups that were set aside, without an index of their keys.

use super::keyed::KeyList;
use super::measure::MeasureState;

/// Groups are set aside if they are at least this many. Fewer are held even if they do not fit the processor's cache:
/// most rows find their group among them, and would make it anew after it was set aside.
pub(super) const HELD_GROUPS_MAX: usize = 1 << 21;

/// Groups are set aside if they are at least this many and nearly all rows made a new one: those that follow will
/// hardly find theirs, and a small index stays in the processor's cache.
pub(super) const NEW_GROUPS_MIN: usize = 1 << 17;

/// Nearly all rows made a new group if at most one of this many found its group.
pub(super) const NEW_AMONG: usize = 50;

/// Groups whose keys have hashes of one partition. Parts of one group that were set aside one after the other may still
/// be separate.
#[derive(Debug, Clone, Default)]
pub struct GroupPartition {
    pub(super) parts: Vec<GroupPart>,
}

/// The groups of a partition that were set aside together.
#[derive(Debug, Clone)]
pub(super) struct GroupPart {
    pub(super) keys: KeyList,
    /// The state of each measure.
    pub(super) states: Vec<MeasureState>,
    /// The number of rows of each group.
    pub(super) row_counts: Vec<u64>,
}

impl GroupPart {
    fn memory_bytes(&self) -> usize {
        let states: usize = self.states.iter().map(MeasureState::memory_bytes).sum();
        self.keys.memory_bytes() + states + self.row_counts.capacity() * size_of::<u64>()
    }
}

impl GroupPartition {
    /// The size of the groups in memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.parts.iter().map(GroupPart::memory_bytes).sum()
    }
}
