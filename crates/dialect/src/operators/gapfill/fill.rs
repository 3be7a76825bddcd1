//! The buckets of one series, each with its row or a gap, and the values that are put into gaps.

use super::steps::{Steps, Ticks};
use crate::functions::times::interval::interval_of;
use atsdb_core::Result;
use atsdb_core::time::{DAY_SECONDS, civil_from_days, days_from_civil, days_in_month};
use datafusion::arrow::array::{Array, Float64Array, Int64Array, UInt32Array};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;

/// One row of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BucketPosition {
    /// `None` for the row of times that are NULL.
    pub bucket: Option<i64>,
    /// The series' row; `None` in a gap.
    pub row: Option<usize>,
}

/// Iterates over the rows of a series, in their order, and the buckets that have none.
#[derive(Debug)]
pub(crate) struct BucketIterator {
    steps: Steps,
    /// The buckets of the rows in ascending order, with NULL last.
    buckets: Int64Array,
    next_row: usize,
    /// The next bucket to emit.
    next_bucket: Option<i64>,
    end: i64,
}

impl BucketIterator {
    /// Creates an iterator. `range` is the first bucket, and the time before which the last one begins. Rows outside of
    /// it stay.
    pub(crate) fn new(steps: &Steps, buckets: Int64Array, range: (i64, i64)) -> Self {
        let next_bucket = Some(range.0).filter(|start| *start < range.1);
        Self { steps: steps.clone(), buckets, next_row: 0, next_bucket, end: range.1 }
    }

    /// A lower bound for the number of remaining gaps.
    pub(crate) fn gap_count_min(&self) -> u64 {
        let Some((start, next)) = self.next_bucket.and_then(|start| Some((start, self.steps.next(start)?))) else {
            return 0;
        };
        // Months, and days on which clocks change, have different lengths, but none is twice as long as another.
        let width = 2 * (i128::from(next) - i128::from(start)).max(1);
        let buckets = (i128::from(self.end) - i128::from(start)).max(0) / width;
        u64::try_from(buckets).unwrap_or(u64::MAX).saturating_sub(self.buckets.len() as u64)
    }

    /// The next places, at most `count_max`; none at the end.
    pub(crate) fn places(&mut self, count_max: usize) -> Vec<BucketPosition> {
        let mut places = Vec::new();
        while places.len() < count_max {
            let row = (self.next_row < self.buckets.len()).then_some(self.next_row);
            let of_row = row.filter(|row| self.buckets.is_valid(*row)).map(|row| self.buckets.value(row));
            let place = match (row, of_row, self.next_bucket) {
                (None, _, None) => break,
                (_, Some(bucket), Some(next)) if bucket <= next => BucketPosition { bucket: Some(bucket), row },
                (_, _, Some(next)) => BucketPosition { bucket: Some(next), row: None },
                (Some(_), bucket, None) => BucketPosition { bucket, row },
            };
            self.next_row += usize::from(place.row.is_some());
            if place.bucket == self.next_bucket {
                self.next_bucket =
                    place.bucket.and_then(|bucket| self.steps.next(bucket)).filter(|next| *next < self.end);
            }
            places.push(place);
        }
        places
    }
}

/// The maximum distance between values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LongestGap {
    months: i32,
    ticks: i64,
    ticks_per_day: i64,
}

impl LongestGap {
    /// Creates it from an interval, or from an integer for plain integers. NULL returns `None`, which means any
    /// distance.
    pub(crate) fn new(value: &ScalarValue, ticks: Ticks) -> Result<Option<Self>> {
        if value.is_null() {
            return Ok(None);
        }
        let Ticks::Of(unit) = ticks else {
            return match value.cast_to(&DataType::Int64) {
                Ok(ScalarValue::Int64(Some(ticks))) => Ok(Some(Self { months: 0, ticks, ticks_per_day: 1 })),
                _ => Err(crate::text::errors::sql_error("the longest gap of an integer time must be an integer")),
            };
        };
        let Some(interval) = interval_of(value)? else { return Ok(None) };
        let ticks_per_day = DAY_SECONDS * unit.per_second();
        let nanos = i128::from(interval.nanoseconds) * i128::from(unit.per_second()) / 1_000_000_000;
        let ticks = i128::from(interval.days) * i128::from(ticks_per_day) + nanos;
        let ticks = i64::try_from(ticks).unwrap_or(i64::MAX);
        Ok(Some(Self { months: interval.months, ticks, ticks_per_day }))
    }

    /// The last time within the distance from a time.
    fn from(&self, time: i64) -> i64 {
        let time = match self.months {
            0 => time,
            months => {
                let (year, month, day) = civil_from_days(time.div_euclid(self.ticks_per_day));
                let months = year * 12 + i64::from(month) - 1 + i64::from(months);
                let (year, month) = (months.div_euclid(12), months.rem_euclid(12) as u32 + 1);
                let days = days_from_civil(year, month, day.min(days_in_month(year, month)));
                days.saturating_mul(self.ticks_per_day).saturating_add(time.rem_euclid(self.ticks_per_day))
            }
        };
        time.saturating_add(self.ticks)
    }
}

fn is_within_gap(longest_gap: Option<LongestGap>, from: i64, to: i64) -> bool {
    longest_gap.is_none_or(|longest_gap| to <= longest_gap.from(from))
}

/// Carries the last non-NULL value forward.
#[derive(Debug)]
pub(crate) struct CarryForward {
    longest_gap: Option<LongestGap>,
    last: Option<(usize, i64)>,
}

impl CarryForward {
    pub(crate) fn new(longest_gap: Option<LongestGap>) -> Self {
        Self { longest_gap, last: None }
    }

    /// Returns the row of `values` to take for each place.
    pub(crate) fn rows(&mut self, values: &dyn Array, places: &[BucketPosition]) -> UInt32Array {
        let row_at = |place: &BucketPosition| {
            let valid = place.row.filter(|row| values.is_valid(*row));
            match (valid, place.bucket) {
                (Some(row), Some(bucket)) => {
                    self.last = Some((row, bucket));
                    Some(row)
                }
                (Some(row), None) => Some(row),
                (None, Some(bucket)) => {
                    self.last.filter(|(_, from)| is_within_gap(self.longest_gap, *from, bucket)).map(|(row, _)| row)
                }
                (None, None) => None,
            }
        };
        places.iter().map(row_at).map(|row| row.map(|row| row as u32)).collect()
    }
}

/// Interpolates linearly between neighbouring non-NULL values.
#[derive(Debug)]
pub(crate) struct Interpolation {
    longest_gap: Option<LongestGap>,
    /// The rows with a time and a value, and their times.
    knots: Vec<(usize, i64)>,
    /// The first knot that has not been passed yet.
    next: usize,
}

impl Interpolation {
    pub(crate) fn new(longest_gap: Option<LongestGap>, values: &Float64Array, buckets: &Int64Array) -> Self {
        let knots = (0..values.len()).filter(|row| values.is_valid(*row) && buckets.is_valid(*row));
        Self { longest_gap, knots: knots.map(|row| (row, buckets.value(row))).collect(), next: 0 }
    }

    /// Returns the interpolated value for each place.
    pub(crate) fn values(&mut self, values: &Float64Array, places: &[BucketPosition]) -> Float64Array {
        let value_at = |place: &BucketPosition| {
            if let Some(row) = place.row.filter(|row| values.is_valid(*row)) {
                return Some(values.value(row));
            }
            let bucket = place.bucket?;
            while self.knots.get(self.next).is_some_and(|(_, time)| *time <= bucket) {
                self.next += 1;
            }
            let (row_before, before) = *self.knots.get(self.next.checked_sub(1)?)?;
            let (row_after, after) = *self.knots.get(self.next)?;
            if !is_within_gap(self.longest_gap, before, after) {
                return None;
            }
            let passed = (i128::from(bucket) - i128::from(before)) as f64;
            let whole = (i128::from(after) - i128::from(before)) as f64;
            let (from, to) = (values.value(row_before), values.value(row_after));
            // Multiplying first keeps whole numbers whole if possible.
            let part = (to - from) * passed;
            Some(from + if part.is_finite() { part / whole } else { (to - from) * (passed / whole) })
        };
        places.iter().map(value_at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::TimeUnit;

    /// A small pseudo-random number generator.
    fn random(seed: &mut u64, bound: i64) -> i64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(*seed >> 33).unwrap() % bound
    }

    #[test]
    fn every_bucket_has_a_place_and_is_filled_as_by_looking_at_all_rows() {
        let mut seed = 7;
        for round in 0..500 {
            let steps = Steps::new(&ScalarValue::Int64(Some(10)), None, Ticks::Plain).unwrap();
            let mut buckets: Vec<i64> = (0..random(&mut seed, 12)).map(|_| random(&mut seed, 30) * 10 - 100).collect();
            buckets.sort_unstable();
            buckets.dedup();
            let values: Vec<Option<f64>> =
                buckets.iter().map(|_| (random(&mut seed, 4) > 0).then(|| random(&mut seed, 100) as f64)).collect();
            let range = (random(&mut seed, 20) * 10 - 100, random(&mut seed, 250) - 50);
            let longest_gap = (round % 2 == 0).then(|| {
                let gap = ScalarValue::Int64(Some(random(&mut seed, 60)));
                LongestGap::new(&gap, Ticks::Plain).unwrap().unwrap()
            });

            let mut walk = BucketIterator::new(&steps, Int64Array::from(buckets.clone()), range);
            let column = Float64Array::from(values.clone());
            let (mut carry, mut line) = (
                CarryForward::new(longest_gap),
                Interpolation::new(longest_gap, &column, &Int64Array::from(buckets.clone())),
            );
            let mut found = Vec::new();
            loop {
                let places = walk.places(1 + random(&mut seed, 5) as usize);
                if places.is_empty() {
                    break;
                }
                let carried = carry.rows(&column, &places);
                let carried = carried.iter().map(|row| row.and_then(|row| values[row as usize]));
                let lines = line.values(&column, &places);
                let buckets = places.iter().map(|place| place.bucket.unwrap());
                found.extend(
                    buckets.zip(carried).zip(lines.iter()).map(|((bucket, carried), line)| (bucket, carried, line)),
                );
            }

            let mut wanted: Vec<i64> = (range.0..range.1).filter(|time| (time - range.0) % 10 == 0).collect();
            wanted.extend(&buckets);
            wanted.sort_unstable();
            wanted.dedup();
            let known: Vec<(i64, f64)> =
                buckets.iter().zip(&values).filter_map(|(bucket, value)| Some((*bucket, (*value)?))).collect();
            let reached = |from: i64, to: i64| longest_gap.is_none_or(|longest_gap| to - from <= longest_gap.ticks);
            let wanted: Vec<(i64, Option<f64>, Option<f64>)> = wanted
                .into_iter()
                .map(|bucket| {
                    let before = known.iter().rfind(|(time, _)| *time <= bucket);
                    let after = known.iter().find(|(time, _)| *time >= bucket);
                    let carried = before.filter(|(time, _)| reached(*time, bucket)).map(|(_, value)| *value);
                    let line = before.zip(after).and_then(|((from, low), (to, high))| match to - from {
                        0 => Some(*low),
                        _ => reached(*from, *to)
                            .then(|| low + (high - low) * (bucket - from) as f64 / (to - from) as f64),
                    });
                    (bucket, carried, line)
                })
                .collect();
            assert_eq!(found, wanted, "{buckets:?} {values:?} {range:?} {longest_gap:?}");
        }
    }

    #[test]
    fn a_gap_of_months_ends_on_the_same_day_or_the_last() {
        let month = ScalarValue::Utf8(Some("1 month".to_owned()));
        let longest_gap = LongestGap::new(&month, Ticks::Of(TimeUnit::Second)).unwrap().unwrap();
        let day = |year, month, day| days_from_civil(year, month, day) * DAY_SECONDS;
        assert_eq!(longest_gap.from(day(2024, 1, 31) + 60), day(2024, 2, 29) + 60);
        assert_eq!(longest_gap.from(day(2024, 12, 5)), day(2025, 1, 5));
    }
}
