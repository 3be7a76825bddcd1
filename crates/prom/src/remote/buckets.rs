//! Buckets of a histogram from counts by index.

use crate::histogram::{Buckets, Span};

/// The maximum number of empty buckets between two others that are stored. More begin a new span.
const GAP_MAX: i64 = 2;

/// The buckets of counts by ascending index. Counts of the same index are added. `None` if an index does not fit
/// in 32 bits.
pub(crate) fn buckets_of(counts: impl Iterator<Item = (i64, f64)>) -> Option<Buckets> {
    let mut buckets = Buckets::default();
    // The index after the last bucket.
    let mut end = 0;
    for (index, count) in counts.filter(|(_, count)| *count != 0.0) {
        if index + 1 == end
            && let Some(last) = buckets.counts.last_mut()
        {
            *last += count;
            continue;
        }
        let gap = index - end;
        match buckets.spans.last_mut() {
            Some(span) if gap <= GAP_MAX => {
                buckets.counts.extend((0..gap).map(|_| 0.0));
                span.length += u32::try_from(gap).ok()? + 1;
            }
            _ => buckets.spans.push(Span { offset: i32::try_from(gap).ok()?, length: 1 }),
        }
        buckets.counts.push(count);
        end = index + 1;
    }
    i32::try_from(end).ok()?;
    Some(buckets)
}

/// Merges `2^by` buckets each into one.
pub(super) fn merged(buckets: &Buckets, by: u32) -> Option<Buckets> {
    // A bucket includes its upper bound, so the first of those that become one follows a multiple.
    let index = |index: i32| ((i64::from(index) - 1) >> by) + 1;
    buckets_of(buckets.indexed().map(|(own, count)| (index(own), count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(buckets: &Buckets) -> Vec<(i32, u32)> {
        buckets.spans.iter().map(|span| (span.offset, span.length)).collect()
    }

    #[test]
    fn short_gaps_are_filled_and_long_ones_begin_a_span() {
        let counts = [(-3, 0.0), (-2, 1.0), (-2, 2.0), (1, 4.0), (5, 0.0), (7, 8.0), (8, 16.0)];
        let buckets = buckets_of(counts.into_iter()).unwrap();
        assert_eq!(spans(&buckets), [(-2, 4), (5, 2)]);
        assert_eq!(buckets.counts, [3.0, 0.0, 0.0, 4.0, 8.0, 16.0]);
        assert_eq!(buckets_of(std::iter::empty()), Some(Buckets::default()));
        for index in [i64::from(i32::MAX), i64::from(i32::MIN) - 1] {
            assert_eq!(buckets_of(std::iter::once((index, 1.0))), None);
        }
    }

    #[test]
    fn merged_buckets_keep_their_bounds() {
        // The buckets from -1 to 4: two of them become one, which ends where the second did.
        let fine = buckets_of((-1..=4).map(|index| (index, 1.0))).unwrap();
        let coarse = merged(&fine, 1).unwrap();
        assert_eq!((spans(&coarse), coarse.counts), (vec![(0, 3)], vec![2.0, 2.0, 2.0]));
        assert_eq!(merged(&fine, 0).unwrap(), fine);
    }
}
