//! The first order keys of each partition.

use datafusion::arrow::array::BooleanBufferBuilder;
use datafusion::arrow::buffer::BooleanBuffer;
use std::cmp::Ordering;

/// The first keys of each partition so far, and the numbers of their rows.
#[derive(Debug)]
pub(super) struct FirstKeys<K> {
    /// The number of keys of a partition that are first.
    limit: usize,
    /// Whether keys equal to the last of these are first, too: their rows have its rank.
    keeps_ties: bool,
    /// The keys of each partition, in ascending order.
    keys: Vec<Vec<(K, usize)>>,
    /// The key number `limit` of each partition that has that many.
    bounds: Vec<Option<K>>,
    key_count: usize,
    /// The bytes that the keys occupy on the heap.
    key_bytes: usize,
    /// The number of rows that were among the first when they came, which are numbered in this order.
    row_count: usize,
}

impl<K: Ord + Clone> FirstKeys<K> {
    pub(super) fn new(limit: usize, keeps_ties: bool) -> Self {
        Self { limit, keeps_ties, keys: Vec::new(), bounds: Vec::new(), key_count: 0, key_bytes: 0, row_count: 0 }
    }

    /// The rows of a batch that are among the first of their partitions when they come, in order. They get the next
    /// numbers. `partitions` has the partition of each row, `compare` compares the key of a row with another key, and
    /// `own` returns a row's key and the bytes that it occupies on the heap.
    pub(super) fn admit(
        &mut self,
        partitions: &[usize],
        compare: impl Fn(usize, &K) -> Ordering,
        own: impl Fn(usize) -> (K, usize),
    ) -> Vec<usize> {
        let count = partitions.iter().max().map_or(0, |last| last + 1).max(self.keys.len());
        self.keys.resize_with(count, Vec::new);
        self.bounds.resize(count, None);
        // Most rows end here: this loop has no call and writes nothing.
        let may_be_first =
            |row: &usize| self.bounds[partitions[*row]].as_ref().is_none_or(|bound| self.passes(compare(*row, bound)));
        let mut rows: Vec<usize> = (0..partitions.len()).filter(may_be_first).collect();
        rows.retain(|row| self.admit_row(partitions[*row], *row, &compare, &own));
        rows
    }

    /// Returns whether a key that compares so with the bound of its partition is first.
    fn passes(&self, compared: Ordering) -> bool {
        compared.is_lt() || (self.keeps_ties && compared.is_eq())
    }

    fn admit_row(
        &mut self,
        partition: usize,
        row: usize,
        compare: &impl Fn(usize, &K) -> Ordering,
        own: &impl Fn(usize) -> (K, usize),
    ) -> bool {
        let bound = &self.bounds[partition];
        if bound.as_ref().is_some_and(|bound| !self.passes(compare(row, bound))) {
            return false;
        }
        let keys = &mut self.keys[partition];
        let at = keys.partition_point(|(key, _)| compare(row, key).is_ge());
        let (key, bytes) = own(row);
        keys.insert(at, (key, self.row_count));
        self.key_bytes += bytes;
        self.key_count += 1;
        self.row_count += 1;
        if let Some((last, _)) = keys.get(self.limit - 1) {
            let last = last.clone();
            let count = if self.keeps_ties { keys.partition_point(|(key, _)| *key <= last) } else { self.limit };
            self.key_count -= keys.len() - count;
            keys.truncate(count);
            self.bounds[partition] = Some(last);
        }
        true
    }

    /// Returns a bit for each numbered row: whether it is still among the first. Those rows get new numbers from 0, in
    /// their order.
    pub(super) fn renumber(&mut self) -> BooleanBuffer {
        let mut is_first = BooleanBufferBuilder::new(self.row_count);
        is_first.append_n(self.row_count, false);
        self.keys.iter().flatten().for_each(|(_, number)| is_first.set_bit(*number, true));
        let is_first = is_first.finish();
        let mut numbers = vec![0; self.row_count];
        is_first.set_indices().enumerate().for_each(|(new, old)| numbers[old] = new);
        self.keys.iter_mut().flatten().for_each(|(_, number)| *number = numbers[*number]);
        self.row_count = self.key_count;
        is_first
    }

    /// The number of rows among the first.
    pub(super) fn key_count(&self) -> usize {
        self.key_count
    }

    /// The size in memory, in bytes. What replaced keys had on the heap counts as well.
    pub(super) fn memory_bytes(&self) -> usize {
        let per_partition = size_of::<Vec<(K, usize)>>() + size_of::<Option<K>>();
        // A vector that grows has room for twice its keys.
        self.keys.len() * per_partition + 2 * self.key_count * size_of::<(K, usize)>() + self.key_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (usize, i32);

    /// Admits batches of (partition, key), and returns the rows that are among the first at the end.
    fn first_rows(limit: usize, keeps_ties: bool, batches: &[&[Row]], renumbers: bool) -> Vec<Row> {
        let (mut first, mut held) = (FirstKeys::new(limit, keeps_ties), Vec::new());
        for batch in batches {
            let partitions: Vec<usize> = batch.iter().map(|(partition, _)| *partition).collect();
            let compare = |row: usize, key: &i32| batch[row].1.cmp(key);
            held.extend(first.admit(&partitions, compare, |row| (batch[row].1, 0)).into_iter().map(|row| batch[row]));
            if renumbers {
                keep(&mut held, &first.renumber());
                assert_eq!(held.len(), first.key_count());
            }
        }
        keep(&mut held, &first.renumber());
        held
    }

    fn keep(held: &mut Vec<Row>, is_first: &BooleanBuffer) {
        assert_eq!(held.len(), is_first.len());
        let mut is_first = is_first.iter();
        held.retain(|_| is_first.next() == Some(true));
    }

    #[test]
    fn rows_after_the_first_of_their_partition_are_dropped() {
        let batches: [&[Row]; 3] = [&[(0, 5), (1, 5), (0, 3), (0, 4)], &[(0, 4), (0, 1), (1, 9)], &[(1, 7), (2, 0)]];
        for renumbers in [false, true] {
            assert_eq!(first_rows(2, false, &batches, renumbers), [(1, 5), (0, 3), (0, 1), (1, 7), (2, 0)]);
        }
    }

    #[test]
    fn rows_equal_to_the_last_stay_if_they_have_its_rank() {
        let batches: [&[Row]; 3] = [&[(0, 1), (0, 2), (0, 3)], &[(0, 2), (0, 3), (0, 2)], &[(1, 4), (1, 4), (1, 4)]];
        for renumbers in [false, true] {
            let ties = [(0, 1), (0, 2), (0, 2), (0, 2), (1, 4), (1, 4), (1, 4)];
            assert_eq!(first_rows(2, true, &batches, renumbers), ties);
            assert_eq!(first_rows(2, false, &batches, renumbers), [(0, 1), (0, 2), (1, 4), (1, 4)]);
        }
        let replaced: [&[Row]; 2] = [&[(0, 5), (0, 5), (0, 5)], &[(0, 4), (0, 3)]];
        assert_eq!(first_rows(2, true, &replaced, false), [(0, 4), (0, 3)]);
        assert_eq!(first_rows(3, true, &replaced, false), [(0, 5), (0, 5), (0, 5), (0, 4), (0, 3)]);
    }
}
