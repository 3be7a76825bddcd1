//! The first order keys of each partition.

use std::cmp::Ordering;

/// For each partition the first keys so far, at most `limit` of them.
#[derive(Debug)]
pub(super) struct FirstKeys<K> {
    limit: usize,
    /// Whether rows with the same key as the last of the first rows are needed, too: all of them have its rank.
    keeps_ties: bool,
    /// The keys of each partition, in ascending order.
    keys: Vec<Vec<K>>,
    /// The last of the first keys of each partition that has `limit` of them.
    bounds: Vec<Option<K>>,
    key_count: usize,
    /// What the keys have on the heap.
    key_bytes: usize,
}

impl<K: Ord + Clone> FirstKeys<K> {
    pub(super) fn new(limit: usize, keeps_ties: bool) -> Self {
        Self { limit, keeps_ties, keys: Vec::new(), bounds: Vec::new(), key_count: 0, key_bytes: 0 }
    }

    /// The rows of a batch that may be among the first of their partitions, in order. `partitions` has the partition of
    /// each row, `compare` compares the key of a row with another key, and `own` returns a row's key and what it has
    /// on the heap, in bytes.
    pub(super) fn select(
        &mut self,
        partitions: &[usize],
        compare: impl Fn(usize, &K) -> Ordering,
        own: impl Fn(usize) -> (K, usize),
    ) -> Vec<usize> {
        let count = partitions.iter().max().map_or(0, |last| last + 1).max(self.keys.len());
        self.keys.resize_with(count, Vec::new);
        self.bounds.resize(count, None);
        let (keeps_ties, bounds) = (self.keeps_ties, &self.bounds);
        let may_pass = |row: &usize| match &bounds[partitions[*row]] {
            Some(bound) => match compare(*row, bound) {
                Ordering::Less => true,
                Ordering::Equal => keeps_ties,
                Ordering::Greater => false,
            },
            None => true,
        };
        let mut selected: Vec<usize> = (0..partitions.len()).filter(may_pass).collect();
        for row in &selected {
            self.add(partitions[*row], *row, &compare, &own);
        }
        // The later rows of this batch may have replaced earlier ones.
        let bounds = &self.bounds;
        selected.retain(|row| bounds[partitions[*row]].as_ref().is_none_or(|bound| compare(*row, bound).is_le()));
        selected
    }

    fn add(
        &mut self,
        partition: usize,
        row: usize,
        compare: &impl Fn(usize, &K) -> Ordering,
        own: &impl Fn(usize) -> (K, usize),
    ) {
        let (keys, bound) = (&mut self.keys[partition], &mut self.bounds[partition]);
        if bound.as_ref().is_some_and(|bound| compare(row, bound).is_ge()) {
            return;
        }
        let at = keys.partition_point(|key| compare(row, key).is_ge());
        let (key, bytes) = own(row);
        keys.insert(at, key);
        self.key_bytes += bytes;
        if keys.len() > self.limit {
            keys.pop();
        } else {
            self.key_count += 1;
        }
        if keys.len() == self.limit {
            *bound = keys.last().cloned();
        }
    }

    /// The size in memory, in bytes. What replaced keys had on the heap counts as well.
    pub(super) fn memory_bytes(&self) -> usize {
        let per_partition = size_of::<Vec<K>>() + size_of::<Option<K>>();
        // A vector that grows has room for twice its keys.
        self.keys.len() * per_partition + 2 * self.key_count * size_of::<K>() + self.key_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Selects from batches of (partition, key), and returns the rows that pass.
    fn pass(limit: usize, keeps_ties: bool, batches: &[&[(usize, i32)]]) -> Vec<(usize, i32)> {
        let mut first = FirstKeys::new(limit, keeps_ties);
        let select = |batch: &&[(usize, i32)]| {
            let partitions: Vec<usize> = batch.iter().map(|(partition, _)| *partition).collect();
            let compare = |row: usize, key: &i32| batch[row].1.cmp(key);
            let rows = first.select(&partitions, compare, |row| (batch[row].1, 0));
            rows.into_iter().map(|row| batch[row]).collect::<Vec<_>>()
        };
        batches.iter().flat_map(select).collect()
    }

    #[test]
    fn rows_after_the_first_of_their_partition_are_dropped() {
        let rows = pass(2, false, &[&[(0, 5), (1, 5), (0, 3), (0, 4)], &[(0, 4), (0, 1), (1, 9), (1, 7), (2, 0)]]);
        assert_eq!(rows, [(1, 5), (0, 3), (0, 4), (0, 1), (1, 7), (2, 0)]);
    }

    #[test]
    fn rows_equal_to_the_last_pass_if_they_have_its_rank() {
        let batches: [&[(usize, i32)]; 2] = [&[(0, 1), (0, 2), (0, 3)], &[(0, 2), (0, 3), (0, 2)]];
        assert_eq!(pass(2, true, &batches), [(0, 1), (0, 2), (0, 2), (0, 2)]);
        assert_eq!(pass(2, false, &batches), [(0, 1), (0, 2)]);
    }
}
