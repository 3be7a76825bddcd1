//! Times, dates, times of day, intervals and durations as texts. A fraction of a second has no zeros at its end, and a
//! year before the first is followed by ` BC`, at the end of the text.

use crate::functions::base::arguments::per_second;
use atsdb_core::calendar_text;
use atsdb_core::interval_text::{duration_text, interval_text};
use chrono::{Datelike, NaiveDateTime};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    ArrowTimestampType, DataType, Date32Type, Int64Type, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use datafusion::common::Result;

/// The texts of times, without a zone. The format is that of the text behind the year, and ends with the fraction of a
/// second. A time whose year is beyond those of the calendar becomes NULL.
pub(crate) fn texts_of_times(array: &ArrayRef, format: &str) -> Result<StringArray> {
    let text = |time: NaiveDateTime| {
        let written = time.format(format).to_string();
        let (year, rest) = (time.year(), without_zeros(&written));
        if year > 0 { format!("{year:04}{rest}") } else { format!("{:04}{rest} BC", 1 - year) }
    };
    if let DataType::Timestamp(TimeUnit::Nanosecond, _) = array.data_type() {
        let times = times_of_rows(array.as_primitive::<TimestampNanosecondType>());
        return Ok(times.map(|time| time.map(text)).collect());
    }
    let times = cast(array, &DataType::Timestamp(TimeUnit::Microsecond, None))?;
    let times = times_of_rows(times.as_primitive::<TimestampMicrosecondType>());
    Ok(times.map(|time| time.map(text)).collect())
}

/// The texts of dates of 32 bits.
pub(crate) fn texts_of_dates(array: &ArrayRef) -> StringArray {
    let dates = array.as_primitive::<Date32Type>().iter();
    dates.map(|days| days.map(|days| calendar_text::date(days.into()))).collect()
}

/// The times of all rows, without a zone.
fn times_of_rows<T: ArrowTimestampType>(times: &PrimitiveArray<T>) -> impl Iterator<Item = Option<NaiveDateTime>>
where
    i64: From<T::Native>,
{
    (0..times.len()).map(|row| if times.is_null(row) { None } else { times.value_as_datetime(row) })
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
