//! Points, which are values at times, and the measures that are computed over them in the order of time.

use crate::functions::base::arguments::{order_keys, plain_type, strictly};
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use datafusion::common::Result;
use std::cmp::Ordering;

/// A time, and the bits of the value as a [`Number`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub time: i64,
    pub bits: u64,
}

/// The type of the bits of values. Integers stay integers, because counters of long-running machines exceed the exact
/// range of a float.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    Signed,
    Unsigned,
    Float,
}

impl Number {
    /// The representation for values of a type; `None` if it is not numeric.
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        match plain_type(data_type) {
            DataType::UInt64 => Some(Self::Unsigned),
            integer if integer.is_integer() => Some(Self::Signed),
            number if number.is_numeric() || number.is_null() => Some(Self::Float),
            _ => None,
        }
    }

    pub(crate) fn float(self, bits: u64) -> f64 {
        match self {
            Self::Signed => bits.cast_signed() as f64,
            Self::Unsigned => bits as f64,
            Self::Float => f64::from_bits(bits),
        }
    }

    /// `to - from`.
    fn difference(self, from: u64, to: u64) -> f64 {
        match self {
            Self::Signed => (i128::from(to.cast_signed()) - i128::from(from.cast_signed())) as f64,
            Self::Unsigned => (i128::from(to) - i128::from(from)) as f64,
            Self::Float => f64::from_bits(to) - f64::from_bits(from),
        }
    }

    fn order(self, a: u64, b: u64) -> Ordering {
        match self {
            Self::Signed => a.cast_signed().cmp(&b.cast_signed()),
            Self::Unsigned => a.cmp(&b),
            Self::Float => f64::from_bits(a).total_cmp(&f64::from_bits(b)),
        }
    }

    /// Orders points by time, and points with the same time by value, so that the order is always the same.
    fn order_points(self, a: &Point, b: &Point) -> Ordering {
        a.time.cmp(&b.time).then_with(|| self.order(a.bits, b.bits))
    }

    pub(crate) fn sort(self, points: &mut [Point]) {
        // Not the unstable sort: points usually consist of a few sorted runs, which this one merges.
        points.sort_by(|a, b| self.order_points(a, b));
    }

    /// The points of a batch, row by row; `None` where value or time is NULL.
    pub(crate) fn points(
        self,
        values: &ArrayRef,
        times: &ArrayRef,
    ) -> Result<impl Iterator<Item = Option<Point>> + use<>> {
        let times = match plain_type(times.data_type()) {
            DataType::UInt64 => strictly(times, &DataType::Int64)?.as_primitive::<Int64Type>().clone(),
            _ => order_keys(times)?,
        };
        let plain = plain_type(values.data_type());
        let values = if plain == values.data_type() { values.clone() } else { cast(values, plain)? };
        let nulls = values.logical_nulls();
        let bits: Vec<u64> = match self {
            Self::Signed => {
                let values = cast(&values, &DataType::Int64)?;
                values.as_primitive::<Int64Type>().values().iter().map(|value| value.cast_unsigned()).collect()
            }
            Self::Unsigned => values.as_primitive::<UInt64Type>().values().to_vec(),
            Self::Float => {
                let values = cast(&values, &DataType::Float64)?;
                values.as_primitive::<Float64Type>().values().iter().map(|value| value.to_bits()).collect()
            }
        };
        Ok(bits.into_iter().enumerate().map(move |(row, bits)| {
            let valid = times.is_valid(row) && nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            valid.then(|| Point { time: times.value(row), bits })
        }))
    }
}

/// A measure over points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Measure {
    /// The last value minus the first.
    Delta,
    /// The increase of a counter, which was restarted at 0 wherever it fell.
    Increase,
    /// The increase per second.
    Rate {
        /// The number of time units in a second.
        counts_per_second: f64,
    },
    /// The average of values weighted by how long they were valid.
    TimeWeightedAverage {
        /// Whether values change evenly from one to the next. Otherwise a value is valid until the next one.
        linear: bool,
    },
}

impl Measure {
    /// The measure over points that are in order.
    pub(crate) fn over(self, number: Number, points: &[Point]) -> Option<f64> {
        let (first, rest) = points.split_first()?;
        let mut fold = Fold::new(self, number, *first);
        rest.iter().for_each(|point| fold.push(*point));
        fold.answer()
    }
}

/// A measure that is being computed, point by point in the order of time.
#[derive(Debug, Clone, Copy)]
struct Fold {
    measure: Measure,
    number: Number,
    first: Point,
    last: Point,
    count: u64,
    sum: f64,
    /// The sum of the values, which is needed if all have the same time.
    value_sum: f64,
}

impl Fold {
    fn new(measure: Measure, number: Number, first: Point) -> Self {
        Self { measure, number, first, last: first, count: 1, sum: 0.0, value_sum: number.float(first.bits) }
    }

    fn push(&mut self, point: Point) {
        let (number, last) = (self.number, self.last);
        match self.measure {
            Measure::Delta => {}
            Measure::Increase | Measure::Rate { .. } => {
                let fell = match number {
                    Number::Float => f64::from_bits(point.bits) < f64::from_bits(last.bits),
                    _ => number.order(point.bits, last.bits) == Ordering::Less,
                };
                self.sum += if fell { number.float(point.bits) } else { number.difference(last.bits, point.bits) };
            }
            Measure::TimeWeightedAverage { linear } => {
                let span = elapsed(last, point);
                if span > 0.0 {
                    let value = number.float(last.bits);
                    self.sum += span * if linear { value.midpoint(number.float(point.bits)) } else { value };
                }
                self.value_sum += number.float(point.bits);
            }
        }
        (self.last, self.count) = (point, self.count + 1);
    }

    /// The result; `None` if a second point, or time between two points, is required and missing.
    fn answer(&self) -> Option<f64> {
        let span = elapsed(self.first, self.last);
        match self.measure {
            Measure::TimeWeightedAverage { .. } if span == 0.0 => Some(self.value_sum / self.count as f64),
            Measure::TimeWeightedAverage { .. } => Some(self.sum / span),
            _ if self.count < 2 => None,
            Measure::Delta => Some(self.number.difference(self.first.bits, self.last.bits)),
            Measure::Increase => Some(self.sum),
            Measure::Rate { counts_per_second } => (span > 0.0).then(|| self.sum / (span / counts_per_second)),
        }
    }
}

/// A measure over points that arrive in the order of their times, which can be read at any moment. Points with the same
/// time may arrive in any order.
#[derive(Debug)]
pub(crate) struct Running {
    measure: Measure,
    number: Number,
    /// The measure over the points before the last time.
    fold: Option<Fold>,
    /// The points of the last time, ordered by value.
    latest: Vec<Point>,
}

impl Running {
    pub(crate) fn new(measure: Measure, number: Number) -> Self {
        Self { measure, number, fold: None, latest: Vec::new() }
    }

    /// Adds a point. Returns `false`, and does nothing, if the point is too late.
    pub(crate) fn push(&mut self, point: Point) -> bool {
        match self.latest.last() {
            Some(last) if point.time < last.time => return false,
            Some(last) if point.time > last.time => {
                self.fold = self.over_all();
                self.latest.clear();
            }
            _ => {}
        }
        let place = self.latest.partition_point(|other| self.number.order_points(other, &point) == Ordering::Less);
        self.latest.insert(place, point);
        true
    }

    pub(crate) fn answer(&self) -> Option<f64> {
        self.over_all()?.answer()
    }

    fn over_all(&self) -> Option<Fold> {
        let (first, rest) = self.latest.split_first()?;
        let mut fold = match self.fold {
            Some(mut fold) => {
                fold.push(*first);
                fold
            }
            None => Fold::new(self.measure, self.number, *first),
        };
        rest.iter().for_each(|point| fold.push(*point));
        Some(fold)
    }
}

/// The time between two points, in time units.
fn elapsed(from: Point, to: Point) -> f64 {
    (i128::from(to.time) - i128::from(from.time)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(measure: Measure, points: &[(i64, f64)]) -> Option<f64> {
        let mut points: Vec<Point> =
            points.iter().map(|(time, value)| Point { time: *time, bits: value.to_bits() }).collect();
        Number::Float.sort(&mut points);
        measure.over(Number::Float, &points)
    }

    const RATE: Measure = Measure::Rate { counts_per_second: 1_000.0 };
    const LOCF: Measure = Measure::TimeWeightedAverage { linear: false };
    const LINEAR: Measure = Measure::TimeWeightedAverage { linear: true };

    #[test]
    fn a_counter_that_falls_began_again_at_0() {
        let points = [(3_000, 2.0), (0, 10.0), (1_000, 15.0), (5_000, 9.0), (2_000, 15.0)];
        assert_eq!(over(Measure::Increase, &points), Some(14.0));
        assert_eq!(over(RATE, &points), Some(2.8));
        assert_eq!(over(Measure::Delta, &points), Some(-1.0));
    }

    #[test]
    fn a_value_weighs_as_long_as_it_held() {
        let points = [(0, 10.0), (9, 20.0), (10, 0.0)];
        assert_eq!(over(LOCF, &points), Some(11.0));
        assert_eq!(over(LINEAR, &points), Some(14.5));
    }

    #[test]
    fn one_point_has_an_average_and_no_difference() {
        for (measure, expected) in
            [(Measure::Delta, None), (Measure::Increase, None), (RATE, None), (LOCF, Some(4.0)), (LINEAR, Some(4.0))]
        {
            assert_eq!(over(measure, &[(7, 4.0)]), expected, "{measure:?}");
            assert_eq!(over(measure, &[]), None);
        }
        assert_eq!(over(LOCF, &[(7, 4.0), (7, 5.0)]), Some(4.5));
        assert_eq!(over(RATE, &[(7, 4.0), (7, 5.0)]), None);
    }

    #[test]
    fn integers_beyond_the_floats_have_exact_differences() {
        let point = |time, value: u64| Point { time, bits: value };
        let points = [point(0, u64::MAX - 5), point(1, u64::MAX - 2), point(2, 4)];
        assert_eq!(Measure::Increase.over(Number::Unsigned, &points), Some(7.0));
        let points = [point(i64::MIN, i64::MIN.cast_unsigned()), point(i64::MAX, i64::MAX.cast_unsigned())];
        assert_eq!(Measure::Delta.over(Number::Signed, &points), Some(18_446_744_073_709_551_615.0));
    }
}
