//! Times and dates as text.

use super::cells::Render;
use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    Date32Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use atsdb_core::Result;
use atsdb_core::time::{DAY_SECONDS, civil_from_days, format_date};

/// Returns whether a type's zone is UTC or none, so that its values need no rules of a zone.
pub(super) fn is_plain_zone(zone: Option<&str>) -> bool {
    matches!(zone, None | Some("UTC" | "utc" | "Z" | "+00:00" | "+0000" | "Etc/UTC"))
}

/// Renders timestamps of any unit.
pub(super) fn timestamps<'a>(array: &'a dyn Array, unit: TimeUnit, utc: bool) -> Result<Render<'a>> {
    let (values, digits) = match unit {
        TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().values(), 0),
        TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().values(), 3),
        TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().values(), 6),
        TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().values(), 9),
    };
    Ok(Box::new(move |row, out| write_time(values[row], digits, utc, out)))
}

/// Renders dates.
pub(super) fn dates<'a>(array: &'a dyn Array) -> Render<'a> {
    let values = array.as_primitive::<Date32Type>().values();
    Box::new(move |row, out| write_date(i64::from(values[row]), out))
}

/// Appends a time that counts units of `digits` decimal digits of a second.
pub fn write_time(time: i64, digits: u32, utc: bool, out: &mut Vec<u8>) {
    let per_second = 10_i64.pow(digits);
    let (seconds, mut fraction) = (time.div_euclid(per_second), time.rem_euclid(per_second));
    let second_of_day = seconds.rem_euclid(DAY_SECONDS);
    write_date(seconds.div_euclid(DAY_SECONDS), out);
    out.push(b'T');
    write_digits(second_of_day / 3_600, 2, out);
    out.push(b':');
    write_digits(second_of_day / 60 % 60, 2, out);
    out.push(b':');
    write_digits(second_of_day % 60, 2, out);
    if fraction != 0 {
        let mut shown = digits;
        while fraction % 1_000 == 0 {
            (fraction, shown) = (fraction / 1_000, shown - 3);
        }
        out.push(b'.');
        write_digits(fraction, shown, out);
    }
    if utc {
        out.push(b'Z');
    }
}

fn write_date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil_from_days(days);
    if !(0..=9_999).contains(&year) {
        out.extend_from_slice(format_date(days).as_bytes());
        return;
    }
    write_digits(year, 4, out);
    out.push(b'-');
    write_digits(i64::from(month), 2, out);
    out.push(b'-');
    write_digits(i64::from(day), 2, out);
}

fn write_digits(number: i64, width: u32, out: &mut Vec<u8>) {
    for place in (0..width).rev() {
        out.push(b'0' + (number / 10_i64.pow(place) % 10) as u8);
    }
}
