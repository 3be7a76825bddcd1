//! Sets groups aside in partitions if there are too many for the processor's cache, and merges each partition.

use super::collection::Groups;
use super::keyed::{KeyList, KeySlice, KeyedGroups};
use super::measure::{MeasureState, of_groups};
use super::packed_key::PackedKey;
use super::set_aside::{GroupPart, GroupPartition};
use atsdb_core::Result;

/// The number of partitions. A partition of ten million groups is looked up in the processor's cache.
const PARTITION_COUNT: usize = 64;

/// Groups are set aside if they are at least this many. Fewer are looked up in the processor's cache, and the more
/// groups are held, the more rows find theirs.
const SET_ASIDE_MIN: usize = 1 << 17;

impl Groups {
    /// Sets the groups aside if they are many, and starts anew. From then on, only [`partitions`](Self::partitions)
    /// returns all groups. Keys that are looked up by position are never set aside.
    pub fn set_aside_many(&mut self) {
        if self.keyed.is_hashed() && self.len() >= SET_ASIDE_MIN {
            self.set_aside();
        }
    }

    /// Whether groups were set aside.
    pub fn has_set_aside(&self) -> bool {
        !self.set_aside.is_empty()
    }

    /// The groups of several threads, those that were set aside and the others, in partitions. Each group is in one of
    /// them. The order of the threads matters for floating-point sums.
    pub fn partitions(threads: Vec<Self>) -> Vec<GroupPartition> {
        let mut partitions = vec![GroupPartition::default(); PARTITION_COUNT];
        for mut groups in threads {
            groups.set_aside();
            for (partition, set_aside) in partitions.iter_mut().zip(groups.set_aside) {
                partition.parts.extend(set_aside.parts);
            }
        }
        partitions
    }

    /// Adds the groups of a partition, of the same keys and measures.
    pub fn merge_partition(&mut self, partition: GroupPartition) -> Result<()> {
        for part in partition.parts {
            self.merge_states(part.keys.as_slice(), &part.states, &part.row_counts)?;
        }
        Ok(())
    }

    fn set_aside(&mut self) {
        self.set_aside.resize_with(PARTITION_COUNT, GroupPartition::default);
        let (sorted, ends) = by_partition(self.keyed.keys());
        let mut start = 0;
        for (partition, end) in self.set_aside.iter_mut().zip(ends) {
            let groups = &sorted[start..end];
            start = end;
            if !groups.is_empty() {
                partition.parts.push(GroupPart {
                    keys: keys_of(&self.keyed, groups),
                    states: self.states.iter_mut().map(|state| state.take(groups)).collect(),
                    row_counts: of_groups(&self.row_counts, groups),
                });
            }
        }
        self.keyed.clear();
        self.states.iter_mut().for_each(MeasureState::clear);
        self.row_counts.clear();
    }
}

fn keys_of(keyed: &KeyedGroups, groups: &[u32]) -> KeyList {
    match keyed.keys() {
        KeySlice::Narrow(keys) => KeyList::Narrow(of_groups(keys, groups)),
        KeySlice::Wide(keys) => KeyList::Wide(of_groups(keys, groups)),
    }
}

/// The groups in the order of their partitions, and the end of each partition among them.
fn by_partition(keys: KeySlice<'_>) -> (Vec<u32>, [usize; PARTITION_COUNT]) {
    match keys {
        KeySlice::Narrow(keys) => keys_by_partition(keys),
        KeySlice::Wide(keys) => keys_by_partition(keys),
    }
}

fn keys_by_partition<K: PackedKey>(keys: &[K]) -> (Vec<u32>, [usize; PARTITION_COUNT]) {
    // The index of groups uses the upper half of the hash.
    let partition_of = |key: &K| key.hash() as usize % PARTITION_COUNT;
    let mut ends = [0; PARTITION_COUNT];
    for key in keys {
        ends[partition_of(key)] += 1;
    }
    let mut next = [0; PARTITION_COUNT];
    let mut end = 0;
    for (next, count) in next.iter_mut().zip(&mut ends) {
        *next = end;
        end += *count;
        *count = end;
    }
    let mut sorted = vec![0; keys.len()];
    for (group, key) in (0_u32..).zip(keys) {
        let at = &mut next[partition_of(key)];
        sorted[*at] = group;
        *at += 1;
    }
    (sorted, ends)
}
