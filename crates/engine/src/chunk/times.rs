//! Sets of times as intervals: union and difference.

use atsdb_core::ChunkEntry;

/// An interval of times, both ends included, in the table's unit.
pub type Times = (i64, i64);

/// The times of some chunks as ordered intervals, joined where they touch.
pub(crate) fn times_of<'a>(entries: impl IntoIterator<Item = &'a ChunkEntry>) -> Vec<Times> {
    joined(entries.into_iter().map(|entry| (entry.time_min, entry.time_max)).collect())
}

/// Sorts intervals and joins those that touch or overlap.
pub fn joined(mut times: Vec<Times>) -> Vec<Times> {
    times.sort_unstable();
    let mut joined: Vec<Times> = Vec::with_capacity(times.len().min(1_024));
    for (first, last) in times {
        match joined.last_mut() {
            Some(before) if before.1.checked_add(1).is_none_or(|next| first <= next) => before.1 = before.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    joined
}

/// The difference of two joined sets of intervals: `times` without `taken`.
pub fn without(times: &[Times], taken: &[Times]) -> Vec<Times> {
    let mut left = Vec::new();
    for (first, last) in times {
        let mut from = Some(*first);
        for (start, end) in taken.iter().filter(|(start, end)| end >= first && start <= last) {
            match from {
                Some(at) if at < *start => left.push((at, start - 1)),
                _ => {}
            }
            from = end.checked_add(1).filter(|next| next <= last);
        }
        left.extend(from.map(|at| (at, *last)));
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_joined_where_they_touch() {
        assert_eq!(joined(vec![(5, 6), (1, 2), (3, 3), (9, i64::MAX), (10, 12)]), [(1, 3), (5, 6), (9, i64::MAX)]);
    }

    #[test]
    fn what_is_taken_away_leaves_the_rest() {
        let all = (i64::MIN, i64::MAX);
        assert_eq!(without(&[all], &[(0, 9)]), [(i64::MIN, -1), (10, i64::MAX)]);
        assert_eq!(without(&[(0, 9), (20, 29)], &[(5, 21), (25, 25)]), [(0, 4), (22, 24), (26, 29)]);
        assert_eq!(without(&[(0, 9)], &[all]), []);
        assert_eq!(without(&[(0, 9)], &[(10, 12)]), [(0, 9)]);
    }
}
