//! The times of a chunk as runs in ascending order, in which the rows of a time range are found without comparing
//! each time.
//!
//! Rows that are sorted by series have one run for each series. Instruments are usually read at equal intervals, and
//! then the rows of a range follow from a division, or are near the place that it yields.

use arrow::array::{BooleanArray, BooleanBufferBuilder, Int64Array};
use arrow::buffer::BooleanBuffer;
use atsdb_core::{Result, TimeRange};
use std::ops::Range;

/// If fewer times are wanted, comparing them costs less than looking for the runs of the whole chunk.
pub(crate) const ROWS_MIN: usize = 4_096;

/// If runs have fewer rows than this on average, each time is compared.
const RUN_ROWS_MIN: usize = 16;

/// The times of a chunk as runs in ascending order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TimeRuns {
    /// The runs of all rows, in the order of rows.
    Runs(Vec<TimeRun>),
    /// The runs are too short to be of use.
    Scattered,
}

/// Rows whose times are in ascending order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TimeRun {
    start: u32,
    end: u32,
    first: i64,
    last: i64,
    /// The difference of each two adjacent times, if they are all equal.
    step: Option<u64>,
}

impl TimeRuns {
    pub(crate) fn of(times: &[i64]) -> Self {
        let mut runs = Vec::new();
        let mut start = 0;
        while start < times.len() {
            let run = TimeRun::at(times, start);
            start = run.end as usize;
            runs.push(run);
            if runs.len() * RUN_ROWS_MIN > start + RUN_ROWS_MIN * RUN_ROWS_MIN {
                return Self::Scattered;
            }
        }
        Self::Runs(runs)
    }

    /// Whether no row is earlier than the row before it.
    pub(crate) fn is_in_order(&self) -> bool {
        matches!(self, Self::Runs(runs) if runs.len() == 1)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Runs(runs) => runs.capacity() * size_of::<TimeRun>(),
            Self::Scattered => 0,
        }
    }

    /// For each of some rows whether a range contains its time. `times` returns the times of all rows of the chunk; it
    /// is called only if they are needed.
    pub(crate) fn within(
        &self,
        range: TimeRange,
        rows: Range<usize>,
        times: impl Fn() -> Result<Int64Array>,
    ) -> Result<BooleanArray> {
        let Self::Runs(runs) = self else { return Ok(times_within(&times()?.slice(rows.start, rows.len()), range)) };
        let mut mask = BooleanBufferBuilder::new(rows.len());
        let mut loaded = None;
        let first = runs.partition_point(|run| run.end as usize <= rows.start);
        for run in runs[first..].iter().take_while(|run| (run.start as usize) < rows.end) {
            let mut before = |bound: i64| -> Result<usize> {
                match run.steady_rows_before(bound) {
                    Some(count) => Ok(count),
                    None => {
                        let times = match &mut loaded {
                            Some(times) => times,
                            empty => empty.insert(times()?),
                        };
                        Ok(rows_before(&times.values()[run.start as usize..run.end as usize], bound))
                    }
                }
            };
            let start = range.start.map_or(Ok(0), &mut before)?;
            let end = range.end.map_or(Ok(run.len()), before)?.max(start);
            let clipped = |count: usize| (run.start as usize + count).clamp(rows.start, rows.end) - rows.start;
            mask.append_n(clipped(start) - mask.len(), false);
            mask.append_n(clipped(end) - mask.len(), true);
        }
        mask.append_n(rows.len() - mask.len(), false);
        Ok(BooleanArray::new(mask.finish(), None))
    }
}

impl TimeRun {
    /// The longest run that begins at a row.
    fn at(times: &[i64], start: usize) -> Self {
        let first = times[start];
        let mut end = start + 1;
        let mut step = times.get(end).filter(|next| **next >= first).map(|next| next.abs_diff(first));
        while end < times.len() && times[end] >= times[end - 1] {
            step = step.filter(|step| times[end].abs_diff(times[end - 1]) == *step);
            end += 1;
        }
        Self { start: start as u32, end: end as u32, first, last: times[end - 1], step }
    }

    fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// The number of rows before a time. `None` if that depends on times other than the first and the last.
    fn steady_rows_before(&self, bound: i64) -> Option<usize> {
        if bound <= self.first {
            Some(0)
        } else if bound > self.last {
            Some(self.len())
        } else {
            // The bound is above the first time and not above the last, so the step is not 0 here.
            self.step.map(|step| bound.abs_diff(self.first).div_ceil(step) as usize)
        }
    }
}

/// The number of ascending times before a bound, which is above the first and not above the last. It is searched for
/// from where it would be at equal intervals, in steps that double: at nearly equal ones that reads few times, which
/// are close to each other in memory.
fn rows_before(times: &[i64], bound: i64) -> usize {
    let end = times.len() - 1;
    let (offset, length) = (bound.abs_diff(times[0]), times[end].abs_diff(times[0]));
    let expected = u128::from(offset) * end as u128 / u128::from(length);
    let expected = usize::try_from(expected).map_or(end, |expected| expected.min(end));
    // The times below `low` are before the bound, those from `high` on are not.
    let (mut low, mut high, mut step) = (0, times.len(), 1);
    if times[expected] < bound {
        low = expected + 1;
        while let Some(time) = times.get(low + step) {
            if *time >= bound {
                high = low + step;
                break;
            }
            (low, step) = (low + step + 1, 2 * step);
        }
    } else {
        high = expected;
        while high > step {
            if times[high - step] < bound {
                low = high - step + 1;
                break;
            }
            (high, step) = (high - step, 2 * step);
        }
    }
    low + times[low..high].partition_point(|time| *time < bound)
}

/// Returns for each time whether a range contains it.
pub(crate) fn times_within(times: &Int64Array, range: TimeRange) -> BooleanArray {
    let first = range.start.unwrap_or(i64::MIN);
    let last = range.end.map_or(Some(i64::MAX), |end| end.checked_sub(1));
    let Some(width) = last.filter(|last| *last >= first).map(|last| last.abs_diff(first)) else {
        return BooleanArray::new(BooleanBuffer::new_unset(times.len()), None);
    };
    // One comparison: a time before the first is a large distance.
    BooleanArray::from_unary(times, |time| time.wrapping_sub(first).cast_unsigned() <= width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::Index;
    use proptest::test_runner::RngSeed;
    use std::cell::Cell;

    /// Compares the rows found in runs with those found by comparing each time, for all ranges and parts of rows
    /// around the times.
    fn check(times: &[i64]) {
        let array = Int64Array::from(times.to_vec());
        let runs = TimeRuns::of(times);
        let mut bounds: Vec<i64> =
            times.iter().flat_map(|time| [time.saturating_sub(1), *time, time.saturating_add(1)]).collect();
        bounds.sort_unstable();
        bounds.dedup();
        let step = (bounds.len() / 25).max(1);
        let bounds: Vec<Option<i64>> =
            std::iter::once(None).chain(bounds.into_iter().step_by(step).map(Some)).collect();
        for start in &bounds {
            for end in &bounds {
                let range = TimeRange { start: *start, end: *end };
                for rows in [0..times.len(), 0..times.len() / 2, times.len() / 3..times.len(), 7..8] {
                    let found = runs.within(range, rows.clone(), || Ok(array.clone())).unwrap();
                    assert_eq!(found, times_within(&array.slice(rows.start, rows.len()), range), "{range:?} {rows:?}");
                }
            }
        }
    }

    #[test]
    fn rows_of_a_range_are_found_in_runs() {
        let regular = |count: i64, start: i64, step: i64| (0..count).map(move |row| start + row * step);
        let steady: Vec<i64> = regular(50, 1_000, 60).chain(regular(70, 990, 60)).chain(regular(30, 5, 0)).collect();
        let broken: Vec<i64> = regular(40, 0, 10).chain(regular(40, 1_000, 7)).chain(regular(40, 3, 9)).collect();
        let repeated: Vec<i64> = (0..200).map(|row| row / 3).collect();
        let far = [vec![i64::MIN; 20], vec![0; 20], vec![i64::MAX; 20]].concat();
        // Not quite at equal intervals, far from equal ones, and with a gap.
        let jittered: Vec<i64> = (0..300).map(|row| row * 60 + row * row * 31 % 59).collect();
        let curved: Vec<i64> = (0..300).map(|row| row * row * row).collect();
        let gap: Vec<i64> = (0..150).chain(1_000_000..1_000_150).collect();
        for times in [&steady, &broken, &repeated, &far, &jittered, &curved, &gap] {
            assert!(matches!(TimeRuns::of(times), TimeRuns::Runs(_)));
            check(times);
        }
        let scattered: Vec<i64> = (0..2_000).map(|row| row * 7_919 % 2_003).collect();
        assert_eq!(TimeRuns::of(&scattered), TimeRuns::Scattered);
        check(&scattered);
    }

    /// Times in a few runs: at equal intervals up to the largest, or anywhere, also close to the ends of 64 bits.
    fn any_times() -> impl Strategy<Value = Vec<i64>> {
        let time = || prop_oneof![Just(i64::MIN), Just(i64::MAX), -50..50_i64, any::<i64>(), i64::MAX - 50..i64::MAX];
        let step = prop_oneof![0..3_u64, 1..1_000_u64, any::<u64>()];
        let steady = (time(), step, 1..60_i64).prop_map(|(first, step, count)| {
            let times = (0..count).map(|row| i128::from(first) + i128::from(row) * i128::from(step));
            times.map_while(|time| i64::try_from(time).ok()).collect::<Vec<i64>>()
        });
        let unsteady = vec(time(), 1..60).prop_map(|mut times| {
            times.sort_unstable();
            times
        });
        vec(prop_oneof![steady, unsteady], 1..8).prop_map(|runs| runs.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, rng_seed: RngSeed::Fixed(atsdb_testkit::seed()), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_rows_of_any_range_are_those_that_comparing_each_time_finds(
            times in any_times(), bounds: [Index; 2], offsets in [-1..=1_i64, -1..=1_i64], ends: [Index; 2],
        ) {
            let array = Int64Array::from(times.clone());
            let [start, end] = [0, 1].map(|at| Some(bounds[at].get(&times).saturating_add(offsets[at])));
            let [first, last] = ends.map(|end| end.index(times.len() + 1));
            let rows = first.min(last)..first.max(last);
            for range in [TimeRange { start, end }, TimeRange { start, end: None }, TimeRange { start: None, end }] {
                let found = TimeRuns::of(&times).within(range, rows.clone(), || Ok(array.clone())).unwrap();
                prop_assert_eq!(found, times_within(&array.slice(rows.start, rows.len()), range));
            }
        }

        #[test]
        fn rows_before_a_bound_are_counted_among_any_times(times in vec(any::<i64>(), 2..300), bound: i64) {
            let mut times = times;
            times.sort_unstable();
            let bounds = times.iter().flat_map(|time| [*time, time.saturating_add(1)]).chain([bound]);
            for bound in bounds.filter(|bound| *bound > times[0] && *bound <= times[times.len() - 1]) {
                prop_assert_eq!(rows_before(&times, bound), times.partition_point(|time| *time < bound));
            }
        }
    }

    #[test]
    fn times_at_equal_intervals_are_not_read() {
        let times: Vec<i64> = (0..400).map(|row| row % 100 * 60).collect();
        let runs = TimeRuns::of(&times);
        let reads = Cell::new(0);
        let found = runs.within(TimeRange::from(600..1_201), 0..400, || {
            reads.set(reads.get() + 1);
            Ok(Int64Array::from(times.clone()))
        });
        assert_eq!((found.unwrap().true_count(), reads.get()), (44, 0));
    }
}
