//! All values of each group, for functions that need them together, such as percentiles.

use super::bits::nulls;
use super::moments::numbers;
use super::runs::Spans;
use arrow::array::ArrayRef;

/// A vector that is not empty has room for at least this many values.
const ROOM_MIN: usize = 4;

/// The values of each group, in the order of rows. NULLs are left out.
#[derive(Debug, Clone, Default)]
pub(super) struct GroupValues {
    groups: Vec<Vec<f64>>,
    value_count: usize,
}

impl GroupValues {
    pub(super) fn resize(&mut self, group_count: usize) {
        self.groups.resize_with(group_count, Vec::new);
    }

    /// The values of each group.
    pub(super) fn groups(&self) -> &[Vec<f64>] {
        &self.groups
    }

    /// Adds the numbers of spans to their groups.
    pub(super) fn add(&mut self, column: &ArrayRef, spans: Spans<'_>, groups: &[u32]) {
        let (nulls, numbers) = (nulls(column), numbers(column));
        let values = numbers.values();
        match spans {
            Spans::Rows => {
                let mut push = |row: usize| self.groups[groups[row] as usize].push(values[row]);
                match nulls {
                    None => (0..groups.len()).for_each(push),
                    Some(nulls) => nulls.valid_indices().for_each(&mut push),
                }
            }
            Spans::Runs(runs) => {
                for (rows, group) in runs.ranges().zip(groups) {
                    let of_group = &mut self.groups[*group as usize];
                    match nulls {
                        None => of_group.extend_from_slice(&values[rows]),
                        Some(nulls) => {
                            for (start, end) in nulls.slice(rows.start, rows.len()).valid_slices() {
                                of_group.extend_from_slice(&values[rows.start + start..rows.start + end]);
                            }
                        }
                    }
                }
            }
        }
        self.value_count += column.len();
    }

    /// Adds the groups of other values. `groups` has the own group for each of them.
    pub(super) fn merge(&mut self, from: &Self, groups: &[u32]) {
        for (values, group) in from.groups.iter().zip(groups) {
            self.groups[*group as usize].extend_from_slice(values);
        }
        self.value_count += from.value_count;
    }

    /// Moves the values of some groups to a new state, and leaves these groups without values.
    pub(super) fn take(&mut self, groups: &[u32]) -> Self {
        let taken: Vec<Vec<f64>> =
            groups.iter().map(|group| std::mem::take(&mut self.groups[*group as usize])).collect();
        let value_count = taken.iter().map(Vec::len).sum();
        Self { groups: taken, value_count }
    }

    /// Removes all groups.
    pub(super) fn clear(&mut self) {
        self.groups.clear();
        self.value_count = 0;
    }

    /// The size in memory, in bytes. A vector that grows has room for up to twice its values.
    pub(super) fn memory_bytes(&self) -> usize {
        let value_room = self.groups.len() * ROOM_MIN + 2 * self.value_count;
        self.groups.capacity() * size_of::<Vec<f64>>() + value_room * size_of::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Float64Array;
    use std::sync::Arc;

    #[test]
    fn the_memory_of_few_values_in_many_groups_is_counted() {
        for per_group in [1, 5, 100] {
            let row_count = 1_000 * per_group;
            let column: ArrayRef = Arc::new(Float64Array::from(vec![0.5; row_count]));
            let groups: Vec<u32> = (0..1_000).cycle().take(row_count).collect();
            let mut values = GroupValues::default();
            values.resize(1_000);
            values.add(&column, Spans::Rows, &groups);
            let held: usize = values.groups.iter().map(|values| values.capacity() * size_of::<f64>()).sum();
            let counted = values.memory_bytes();
            assert!(counted >= held + 1_000 * size_of::<Vec<f64>>(), "{counted} bytes, and {held} of values");
        }
    }
}
