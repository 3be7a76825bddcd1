//! Parses the text of one cell as a value of its column's type, or explains why it is not one.

use crate::plan::column::TimeParsing;
use crate::values::dates::DateOrder;
use crate::values::epochs::epoch;
use crate::values::numbers::{any_f64, is_number};
use crate::values::times::{count, parse};
use crate::values::zones::{Instant, Zone};
use arrow::array::{
    ArrayRef, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray,
};
use arrow::buffer::NullBuffer;
use arrow::error::ArrowError;
use atsdb_core::TimeUnit;
use std::sync::Arc;

/// A time, and whether clocks showed it twice.
pub(crate) fn time_of(
    bytes: &[u8],
    parsing: TimeParsing,
    unit: TimeUnit,
    is_strict: bool,
) -> Result<(i64, bool), String> {
    let beyond = || format!("is finer than, or beyond, what a time in {unit} holds");
    if let Some(mut time) = parse(bytes, parsing.dates) {
        let mut is_first_of_two = false;
        if let Some(zone) = parsing.zone.filter(|_| !time.is_zoned) {
            let instant = zone.instant(time.seconds).ok_or_else(never_shown)?;
            (time.seconds, is_first_of_two) = (instant.seconds, instant.is_first_of_two);
        }
        return time.count(unit).map(|count| (count, is_first_of_two)).ok_or_else(beyond);
    }
    if let Some(epoch_unit) = parsing.epoch.filter(|_| !is_strict)
        && let Some((seconds, nanoseconds, _)) = epoch(bytes, epoch_unit)
    {
        return count(seconds, nanoseconds, unit).map(|count| (count, false)).ok_or_else(beyond);
    }
    Err(match parsing.dates.order {
        Some(DateOrder::DayFirst) => "is not a time (days are read before months)".to_owned(),
        Some(DateOrder::MonthFirst) => "is not a time (months are read before days)".to_owned(),
        None => "is not a time".to_owned(),
    })
}

fn never_shown() -> String {
    "was never shown by clocks, which were set forward".to_owned()
}

/// The time of year, month, day, hour, minute and second, and whether clocks showed it twice.
pub(crate) fn time_of_parts(numbers: [i64; 6], zone: Option<Zone>, unit: TimeUnit) -> Option<(i64, bool)> {
    use atsdb_core::time::{DAY_SECONDS, days_from_civil, days_in_month};
    let [year, month, day, hour, minute, second] = numbers;
    let (month, day) = (u32::try_from(month).ok()?, u32::try_from(day).ok()?);
    let is_date = year.abs() < 300_000 && (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
    let is_clock = (0..=24).contains(&hour) && (0..=59).contains(&minute) && (0..=60).contains(&second);
    let is_after_day = hour == 24 && (minute, second) != (0, 0);
    if !is_date || !is_clock || is_after_day {
        return None;
    }
    let seconds = days_from_civil(year, month, day) * DAY_SECONDS + hour * 3_600 + minute * 60 + second;
    let instant = match zone {
        Some(zone) => zone.instant(seconds)?,
        None => Instant { seconds, is_first_of_two: false },
    };
    count(instant.seconds, 0, unit).map(|count| (count, instant.is_first_of_two))
}

pub(crate) fn loose_boolean(bytes: &[u8]) -> Option<bool> {
    match bytes {
        b"1" | b"t" | b"T" => Some(true),
        b"0" | b"f" | b"F" => Some(false),
        _ => None,
    }
}

pub(crate) fn not_whole(bytes: &[u8], name: &str) -> String {
    match any_f64(bytes) {
        Some(value) if value.fract() == 0.0 => format!("is out of the range of {name}"),
        _ => "is not an integer".to_owned(),
    }
}

pub(crate) fn no_number(bytes: &[u8], name: &str) -> String {
    if is_number(bytes) { format!("is out of the range of {name}") } else { "is not a number".to_owned() }
}

pub(crate) fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.chunks(2).map(|pair| u8::from_str_radix(pair.utf8(), 16).ok()).collect()
}

/// A column of timestamps of counts.
pub(crate) fn timestamp_array(
    counts: Vec<i64>,
    nulls: Option<NullBuffer>,
    unit: TimeUnit,
) -> Result<ArrayRef, ArrowError> {
    let counts = counts.into();
    Ok(match unit {
        TimeUnit::Second => Arc::new(TimestampSecondArray::try_new(counts, nulls)?.with_timezone("UTC")),
        TimeUnit::Millisecond => Arc::new(TimestampMillisecondArray::try_new(counts, nulls)?.with_timezone("UTC")),
        TimeUnit::Microsecond => Arc::new(TimestampMicrosecondArray::try_new(counts, nulls)?.with_timezone("UTC")),
        TimeUnit::Nanosecond => Arc::new(TimestampNanosecondArray::try_new(counts, nulls)?.with_timezone("UTC")),
    })
}

/// Fields are cut at ASCII bytes, so that they stay UTF-8.
pub(crate) trait Utf8Slice {
    fn utf8(&self) -> &str;
}

impl Utf8Slice for [u8] {
    fn utf8(&self) -> &str {
        std::str::from_utf8(self).unwrap_or("")
    }
}
