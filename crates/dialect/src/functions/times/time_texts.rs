//! Times, dates, times of day, intervals and durations as texts. A fraction of a second has no zeros at its end, and a
//! year before the first is followed by ` BC`, at the end of the text.

use crate::functions::base::arguments::per_second;
use atsdb_codec::time_unit_of;
use atsdb_core::calendar_text;
use atsdb_core::interval_text::{duration_text, interval_text};
use atsdb_core::time::{DAY_SECONDS, civil_from_days};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Date32Type, Int64Type, IntervalMonthDayNanoType, IntervalUnit};
use datafusion::common::{Result, internal_err};
use std::ops::RangeInclusive;

/// The years of the calendar that times are computed with.
const YEARS: RangeInclusive<i64> = -262_143..=262_142;

/// The texts of times, without a zone, with a separator between the date and the time of day. A time whose year is
/// beyond those of the calendar becomes NULL.
pub(crate) fn texts_of_times(array: &ArrayRef, separator: char) -> Result<StringArray> {
    let DataType::Timestamp(unit, _) = array.data_type() else {
        return internal_err!("{} is not a type of times", array.data_type());
    };
    let unit = time_unit_of(*unit);
    let text = |count: i64| {
        let (year, ..) = civil_from_days(count.div_euclid(DAY_SECONDS * unit.per_second()));
        YEARS.contains(&year).then(|| calendar_text::date_and_time(count, unit, separator, ""))
    };
    let counts = cast(array, &DataType::Int64)?;
    Ok(counts.as_primitive::<Int64Type>().iter().map(|count| count.and_then(text)).collect())
}

/// The texts of dates of 32 bits.
pub(crate) fn texts_of_dates(array: &ArrayRef) -> StringArray {
    let dates = array.as_primitive::<Date32Type>().iter();
    dates.map(|days| days.map(|days| calendar_text::date(days.into()))).collect()
}

/// The texts of times of day.
pub(crate) fn texts_of_times_of_day(array: &ArrayRef) -> Result<StringArray> {
    let texts = cast(array, &DataType::Utf8)?;
    Ok(texts.as_string::<i32>().iter().map(|text| text.map(without_zeros)).collect())
}

/// The texts of intervals or durations.
pub(crate) fn texts_of_lengths(array: &ArrayRef) -> Result<StringArray> {
    if let DataType::Duration(unit) = array.data_type() {
        let unit_nanos = 1_000_000_000 / per_second(*unit);
        let counts = cast(array, &DataType::Int64)?;
        let counts = counts.as_primitive::<Int64Type>().iter();
        return Ok(counts.map(|count| count.map(|count| duration_text(count, unit_nanos))).collect());
    }
    let intervals = cast(array, &DataType::Interval(IntervalUnit::MonthDayNano))?;
    let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>().iter();
    Ok(intervals.map(|of| of.map(|of| interval_text(of.months, of.days, of.nanoseconds))).collect())
}

fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}
