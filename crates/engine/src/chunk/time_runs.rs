//! The times of a chunk as runs in ascending order, in which the rows of a time range are found without comparing
//! each time.
//!
//! Rows that are sorted by series have one run for each series. Instruments are usually read at nearly equal intervals.
//! Then the first row of a range follows from a division, up to the largest distance between a time and where it would
//! be at equal intervals, and few times are read, if any.

use arrow::array::{BooleanArray, BooleanBufferBuilder, Int64Array};
use arrow::buffer::BooleanBuffer;
use atsdb_core::{Result, TimeRange};
use std::ops::Range;

/// The minimum number of times for which runs are used. Comparing fewer times costs less than finding the runs of the
/// whole chunk.
pub(crate) const ROWS_MIN: usize = 4_096;

/// The minimum average number of rows in a run. If runs are shorter, each time is compared.
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
    /// The mean difference of two adjacent times, rounded down.
    step: u64,
    /// The maximum distance of times before (`early`) and after (`late`) the time that their row would have at equal
    /// steps. `None` if such a distance exceeds 64 bits.
    early: Option<u64>,
    late: Option<u64>,
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

    /// Returns whether no row is earlier than the row before it.
    pub(crate) fn is_in_order(&self) -> bool {
        matches!(self, Self::Runs(runs) if runs.len() == 1)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Runs(runs) => runs.capacity() * size_of::<TimeRun>(),
            Self::Scattered => 0,
        }
    }

    /// Returns for each of some rows whether a range contains its time. `times` returns the times of all rows of the
    /// chunk; it is called only if they are needed.
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
            let found = run.within(range, &rows, &times, &mut loaded)?;
            mask.append_n(found.start - rows.start - mask.len(), false);
            mask.append_n(found.end - rows.start - mask.len(), true);
        }
        mask.append_n(rows.len() - mask.len(), false);
        Ok(BooleanArray::new(mask.finish(), None))
    }

    /// Returns those of some rows whose times are in a range, if [no row is earlier than the row before
    /// it](Self::is_in_order); `None` otherwise. `times` is as for [`within`](Self::within).
    pub(crate) fn adjacent(
        &self,
        range: TimeRange,
        rows: Range<usize>,
        times: impl Fn() -> Result<Int64Array>,
    ) -> Result<Option<Range<usize>>> {
        match self {
            Self::Runs(runs) if runs.len() == 1 => runs[0].within(range, &rows, &times, &mut None).map(Some),
            Self::Runs(_) | Self::Scattered => Ok(None),
        }
    }
}

impl TimeRun {
    /// The longest run that begins at a row.
    fn at(times: &[i64], start: usize) -> Self {
        let rest = &times[start..];
        let length = 1 + rest.windows(2).take_while(|pair| pair[0] <= pair[1]).count();
        let (first, last) = (rest[0], rest[length - 1]);
        let step = last.abs_diff(first).checked_div(length as u64 - 1).unwrap_or(0);
        // In 128 bits, because two times may be further apart than 64 bits count.
        let (mut early, mut late) = (0, 0);
        let mut expected = i128::from(first);
        for time in &rest[..length] {
            let distance = i128::from(*time) - expected;
            (early, late) = (early.max(-distance), late.max(distance));
            expected += i128::from(step);
        }
        let (early, late) = (u64::try_from(early).ok(), u64::try_from(late).ok());
        Self { start: start as u32, end: (start + length) as u32, first, last, step, early, late }
    }

    fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Returns those of some rows of the chunk that are in the run, and whose times are in a range. `times` is called
    /// only if they are needed and were not `loaded` before.
    fn within(
        &self,
        range: TimeRange,
        rows: &Range<usize>,
        times: &impl Fn() -> Result<Int64Array>,
        loaded: &mut Option<Int64Array>,
    ) -> Result<Range<usize>> {
        let mut before = |bound: i64| -> Result<usize> {
            let Range { start, end } = self.rows_before(bound);
            if start == end {
                return Ok(start);
            }
            let times = match &mut *loaded {
                Some(times) => times,
                empty => empty.insert(times()?),
            };
            let candidates = &times.values()[self.start as usize..][start..end];
            Ok(start + candidates.partition_point(|time| *time < bound))
        };
        let start = range.start.map_or(Ok(0), &mut before)?;
        let end = range.end.map_or(Ok(self.len()), before)?.max(start);
        let clipped = |count: usize| (self.start as usize + count).clamp(rows.start, rows.end);
        Ok(clipped(start)..clipped(end))
    }

    /// The number of rows before a time is at least the start of this range, and at most its end.
    fn rows_before(&self, bound: i64) -> Range<usize> {
        let length = self.len();
        if bound <= self.first {
            return 0..0;
        }
        if bound > self.last {
            return length..length;
        }
        let offset = bound.abs_diff(self.first);
        // The number of rows whose time would be before the bound, at equal steps, if the bound were later or earlier.
        let rows = |offset: u64| usize::try_from(offset.div_ceil(self.step)).map_or(length, |rows| rows.min(length));
        match (self.early, self.late, self.step) {
            (_, _, 0) => 0..length,
            (Some(early), Some(late), _) => rows(offset.saturating_sub(late))..rows(offset.saturating_add(early)),
            _ => 0..length,
        }
    }
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
                    let expected = times_within(&array.slice(rows.start, rows.len()), range);
                    assert_eq!(found, expected, "{range:?} {rows:?}");
                    let adjacent = runs.adjacent(range, rows.clone(), || Ok(array.clone())).unwrap();
                    assert_eq!(adjacent.is_some(), runs.is_in_order());
                    if let Some(adjacent) = adjacent {
                        let is_found = |row| adjacent.contains(&row);
                        let found: Vec<bool> = rows.clone().map(is_found).collect();
                        assert_eq!(BooleanArray::from(found), expected, "{range:?} {rows:?}");
                    }
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

    #[test]
    fn times_near_equal_intervals_are_read_only_near_the_bound() {
        // A minute apart, up to two seconds late or early.
        let times: Vec<i64> = (0..400).map(|row| row % 100 * 60 + row * 7 % 5 - 2).collect();
        let runs = TimeRuns::of(&times);
        let TimeRuns::Runs(of_times) = &runs else { panic!("{runs:?}") };
        assert_eq!(of_times.len(), 4);
        let reads = Cell::new(0);
        let found = runs.within(TimeRange::from(630..1_230), 0..400, || {
            reads.set(reads.get() + 1);
            Ok(Int64Array::from(times.clone()))
        });
        assert_eq!((found.unwrap().true_count(), reads.get()), (40, 0));
        assert!(of_times.iter().all(|run| run.rows_before(1_200).len() == 1));
    }
}
