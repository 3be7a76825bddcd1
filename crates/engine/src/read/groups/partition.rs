//! Sets groups aside in partitions if there are very many, and merges each partition.

use super::collection::Groups;
use super::keyed::{KeyList, KeySlice, KeyedGroups};
use super::measure::{MeasureState, of_groups};
use super::packed_key::PackedKey;
use super::set_aside::{GroupPart, GroupPartition, NEW_AMONG, NEW_GROUPS_MIN};
use atsdb_core::Result;

/// The number of partitions. A partition of ten million groups is looked up in the processor's cache.
const PARTITION_COUNT: usize = 64;

/// Groups that were set aside are merged if they have become this many times as many as when all were different: the
/// same ones may have been set aside several times. So merging takes little time even if all are different.
const MERGED_GROWTH: usize = 4;

impl Groups {
    /// The same groups, which are set aside if they are at least this many.
    pub fn with_held_max(mut self, held_max: usize) -> Self {
        self.held_max = held_max;
        self
    }

    /// Sets the groups aside if they are very many, or many and nearly all new, and starts anew. From then on, only
    /// [`partitions`](Self::partitions) returns all groups. Keys that are looked up by position are never set aside.
    pub fn set_aside_many(&mut self) -> Result<()> {
        let are_new =
            || self.len() >= NEW_GROUPS_MIN && self.span_count.saturating_sub(self.len()) <= self.len() / NEW_AMONG;
        if self.keyed.is_hashed() && (self.len() >= self.held_max || are_new()) {
            let is_first = !self.has_set_aside();
            self.set_aside();
            if is_first {
                // All of them are different.
                self.merged_count = self.set_aside_count();
            } else if self.set_aside_count() >= MERGED_GROWTH * self.merged_count {
                self.merge_set_aside()?;
                self.merged_count = self.set_aside_count();
            }
        }
        Ok(())
    }

    /// Returns whether groups were set aside.
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
        for (partition, end) in ends.into_iter().enumerate() {
            if start < end {
                let part = self.take(&sorted[start..end]);
                self.set_aside[partition].parts.push(part);
            }
            start = end;
        }
        self.keyed.clear();
        self.span_count = 0;
        self.states.iter_mut().for_each(MeasureState::clear);
        self.row_counts.clear();
    }

    /// The number of groups that were set aside. A group counts as often as it was set aside since the last merge.
    fn set_aside_count(&self) -> usize {
        self.set_aside.iter().flat_map(|partition| &partition.parts).map(|part| part.row_counts.len()).sum()
    }

    /// Merges the parts of each partition. There must be no groups that are not set aside.
    fn merge_set_aside(&mut self) -> Result<()> {
        let partitions = std::mem::take(&mut self.set_aside);
        // An index of the size that one partition needs is faster than the large one.
        self.keyed = KeyedGroups::new(&self.packing);
        let none = self.clone();
        for partition in partitions {
            let mut groups = none.clone();
            groups.merge_partition(partition)?;
            let all: Vec<u32> = (0..).take(groups.len()).collect();
            self.set_aside.push(GroupPartition { parts: vec![groups.take(&all)] });
        }
        Ok(())
    }

    /// Moves some groups to a part, which takes no more memory than it needs.
    fn take(&mut self, groups: &[u32]) -> GroupPart {
        GroupPart {
            keys: keys_of(&self.keyed, groups),
            states: self.states.iter_mut().map(|state| state.take(groups)).collect(),
            row_counts: of_groups(&self.row_counts, groups),
        }
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

#[cfg(test)]
mod tests {
    use super::super::key::GroupKey;
    use super::super::measure::{Measure, MeasureKind, Measured};
    use super::*;
    use arrow::array::{Int64Array, RecordBatch};
    use arrow::datatypes::{DataType, Field, Schema};
    use std::sync::Arc;

    #[test]
    fn many_groups_are_held_if_rows_find_them() {
        let schema = Arc::new(Schema::new(vec![Field::new("key", DataType::Int64, false)]));
        let measures = [Measure { kind: MeasureKind::CountRows, column: 0 }];
        let none = Groups::new(&schema, &[GroupKey::Values { column: 0 }], &measures, |_| None).unwrap();
        // Each key has this many rows, which are not beside each other.
        for (repeated, are_set_aside) in [(1, true), (2, false)] {
            let keys: Int64Array = (0..300_000_i64).map(|row| Some(row % (300_000 / repeated) * 7_919)).collect();
            let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(keys)]).unwrap();
            let mut groups = none.clone();
            groups.add(&batch).unwrap();
            groups.set_aside_many().unwrap();
            assert_eq!(groups.has_set_aside(), are_set_aside, "{repeated}");
        }
    }

    #[test]
    fn groups_that_are_set_aside_often_are_merged() {
        let field = |name| Field::new(name, DataType::Int64, true);
        let schema = Arc::new(Schema::new(vec![field("key"), field("value")]));
        let keys: Int64Array = (0..140_000_i64).map(|row| Some(row * 7_919)).collect();
        let values: Int64Array = (0..140_000_i64).map(|row| (row % 3 > 0).then_some(row)).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(keys), Arc::new(values)]).unwrap();
        let measures = [Measure { kind: MeasureKind::Sum, column: 1 }];
        let none = Groups::new(&schema, &[GroupKey::Values { column: 0 }], &measures, |_| None).unwrap();
        let none = none.with_held_max(100_000);
        let mut groups = none.clone();
        for _ in 0..20 {
            groups.add(&batch).unwrap();
            groups.set_aside_many().unwrap();
            assert!(groups.is_empty() && groups.set_aside_count() <= MERGED_GROWTH * 140_000);
        }
        let (mut group_count, mut total, mut with_values) = (0, 0, 0);
        for partition in Groups::partitions(vec![groups]) {
            let mut groups = none.clone();
            groups.merge_partition(partition).unwrap();
            let Measured::Integers(sums, counts) = groups.measured(0, 0..groups.len()) else { panic!() };
            assert!(counts.iter().all(|count| [0, 20].contains(count)));
            group_count += groups.len();
            total += sums.iter().sum::<i128>();
            with_values += counts.iter().filter(|count| **count > 0).count();
        }
        let of_values: i128 = (0..140_000_i128).filter(|row| row % 3 > 0).sum();
        assert_eq!((group_count, total, with_values), (140_000, 20 * of_values, 93_333));
    }
}
