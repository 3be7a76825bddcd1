//! Times of day as text, without zeros at the end, text as times of day, nanoseconds rounded to microseconds, and
//! times of day as intervals and back.
//!
//! Part of [`postgres`](super::postgres). DataFusion 55.2 does not read times without colons (`040506`) or with parts
//! of one digit (`4:5:6`), writes fractions of a second with 3, 6 or 9 digits, and cuts what the type does not have. No
//! upstream issue known.

use atsdb_core::Error;
use atsdb_core::time::DAY_MICROSECONDS;
use atsdb_core::time_of_day;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, IntervalMonthDayNanoArray, StringArray, Time64MicrosecondArray,
};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, Time64MicrosecondType,
    Time64NanosecondType, TimeUnit,
};
use datafusion::common::{DataFusionError, Result};
use std::sync::Arc;

const NANOS: DataType = DataType::Time64(TimeUnit::Nanosecond);
const NANOS_PER_MICRO: i64 = 1_000;

/// Texts as times of day.
pub(super) fn times_of_day(texts: &ArrayRef, target: &DataType, options: &CastOptions<'_>) -> Result<ArrayRef> {
    let read = cast_with_options(&in_full(texts), &NANOS, options)?;
    Ok(cast(&rounded_times(&read, options.safe)?, target)?)
}

/// Times of day in nanoseconds as microseconds. One that would be rounded to the end of the day becomes NULL, or an
/// error if not `safe`.
pub(crate) fn rounded_times(nanos: &ArrayRef, safe: bool) -> Result<ArrayRef> {
    let mut times = Vec::with_capacity(nanos.len());
    for time in cast(nanos, &NANOS)?.as_primitive::<Time64NanosecondType>() {
        times.push(match time.map(rounded) {
            Some(DAY_MICROSECONDS) if safe => None,
            Some(DAY_MICROSECONDS) => {
                let error = Error::invalid("the time of day is rounded to 24:00:00, which TIME does not have");
                let error = error.with_hint("the last time of a day is 23:59:59.999999");
                return Err(DataFusionError::External(Box::new(error)));
            }
            time => time,
        });
    }
    Ok(Arc::new(Time64MicrosecondArray::from(times)))
}

/// The times of day of timestamps in nanoseconds, as microseconds. One that is rounded to the end of the day is the
/// midnight of the next.
pub(super) fn times_of_timestamps(timestamps: &ArrayRef) -> Result<ArrayRef> {
    let counts = cast(timestamps, &DataType::Int64)?;
    let time = |nanos: i64| rounded(nanos).rem_euclid(DAY_MICROSECONDS);
    Ok(Arc::new(counts.as_primitive::<Int64Type>().unary::<_, Time64MicrosecondType>(time)))
}

/// The intervals since midnight.
pub(super) fn lengths_of_times(times: &ArrayRef) -> Result<ArrayRef> {
    let nanos = cast(times, &NANOS)?;
    let lengths = nanos.as_primitive::<Time64NanosecondType>().iter();
    let lengths = lengths.map(|nanos| nanos.map(|nanos| IntervalMonthDayNano::new(0, 0, nanos)));
    Ok(Arc::new(lengths.collect::<IntervalMonthDayNanoArray>()))
}

/// The times of day that are so long after midnight, without whole days and months.
pub(super) fn times_of_lengths(lengths: &ArrayRef) -> Result<ArrayRef> {
    let lengths = cast(lengths, &DataType::Interval(IntervalUnit::MonthDayNano))?;
    let lengths = lengths.as_primitive::<IntervalMonthDayNanoType>().iter();
    let times = lengths.map(|length| length.map(|length| rounded(length.nanoseconds).rem_euclid(DAY_MICROSECONDS)));
    Ok(Arc::new(times.collect::<Time64MicrosecondArray>()))
}

/// The texts with colons where times are written without them, and with two digits for each part.
fn in_full(texts: &ArrayRef) -> ArrayRef {
    let written = texts.as_string::<i32>();
    let in_full = |text: &str| time_of_day::with_colons(text).or_else(|| time_of_day::with_two_digits(text));
    if written.iter().flatten().all(|text| in_full(text).is_none()) {
        return Arc::clone(texts);
    }
    let texts = written.iter().map(|text| text.map(|text| in_full(text).unwrap_or(text.to_owned())));
    Arc::new(texts.collect::<StringArray>())
}

/// Nanoseconds as microseconds. Halves go to the even neighbour.
fn rounded(nanos: i64) -> i64 {
    let (micros, rest) = (nanos.div_euclid(NANOS_PER_MICRO), nanos.rem_euclid(NANOS_PER_MICRO));
    let half = NANOS_PER_MICRO / 2;
    micros + i64::from(rest > half || rest == half && micros % 2 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_to_the_even_neighbour() {
        let positive = [(0, 0), (1_499, 1), (1_500, 2), (2_500, 2), (2_501, 3)];
        for (nanos, micros) in positive.into_iter().chain([(-500, 0), (-1_499, -1), (-1_500, -2)]) {
            assert_eq!(rounded(nanos), micros);
        }
    }
}
