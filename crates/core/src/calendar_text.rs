//! Dates and times as text in PostgreSQL's default style: `2024-01-31 12:00:00.5+00`, `0044-03-15 BC`.
//!
//! Owned here: writing. Not owned: reading ([`time_text`](mod@crate::time_text)).

use crate::time::{DAY_SECONDS, TimeUnit, civil_from_days};
use std::fmt::Write;

/// Appends `2024-01-31`, and returns what stands at the end of the text, behind the time of day: ` BC` for years before
/// the first.
fn push_date(out: &mut String, days: i64) -> &'static str {
    let (year, month, day) = civil_from_days(days);
    let (year, era) = if year <= 0 { (1 - year, " BC") } else { (year, "") };
    let _ = write!(out, "{year:04}-{month:02}-{day:02}");
    era
}

/// `2024-01-31`.
#[must_use]
pub fn date(days: i64) -> String {
    let mut out = String::with_capacity(10);
    let era = push_date(&mut out, days);
    out.push_str(era);
    out
}

/// `2024-01-31 12:00:00.5`, with `+00` if the type has a zone.
#[must_use]
pub fn timestamp(microseconds: i64, has_zone: bool) -> String {
    date_and_time(microseconds, TimeUnit::Microsecond, ' ', if has_zone { "+00" } else { "" })
}

/// `2024-01-31T12:00:00.5+01:00`: a count of a unit since the epoch, with a separator between the date and the time of
/// day, and a zone behind them.
#[must_use]
pub fn date_and_time(count: i64, unit: TimeUnit, separator: char, zone: &str) -> String {
    let per_day = DAY_SECONDS * unit.per_second();
    let mut out = String::with_capacity(32);
    let era = push_date(&mut out, count.div_euclid(per_day));
    out.push(separator);
    push_clock(&mut out, count.rem_euclid(per_day).unsigned_abs(), unit);
    out.push_str(zone);
    out.push_str(era);
    out
}

/// `12:00:00.5`, of microseconds since midnight.
#[must_use]
pub fn time(microseconds: i64) -> String {
    let mut out = String::with_capacity(16);
    push_clock(&mut out, microseconds.unsigned_abs(), TimeUnit::Microsecond);
    out
}

/// Appends hours, minutes and seconds, and a fraction of a second without zeros at its end.
pub(crate) fn push_clock(out: &mut String, count: u64, unit: TimeUnit) {
    let per_second = unit.per_second().unsigned_abs();
    let (seconds, fraction) = (count / per_second, count % per_second);
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    let _ = write!(out, "{hours:02}:{minutes:02}:{:02}", seconds % 60);
    if fraction != 0 {
        let digits = unit.fraction_digits();
        out.push('.');
        out.push_str(format!("{fraction:0digits$}").trim_end_matches('0'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::DAY_MICROSECONDS;

    #[test]
    fn times_are_written_as_postgresql_does() {
        assert_eq!(timestamp(1_700_000_000_500_000, true), "2023-11-14 22:13:20.5+00");
        assert_eq!(timestamp(-1, false), "1969-12-31 23:59:59.999999");
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(-719_528), "0001-01-01 BC");
        assert_eq!(date(2_932_897), "10000-01-01");
        assert_eq!(time(DAY_MICROSECONDS - 1), "23:59:59.999999");
        assert_eq!(time(0), "00:00:00");
        assert_eq!(date_and_time(-1, TimeUnit::Nanosecond, 'T', "-08:00"), "1969-12-31T23:59:59.999999999-08:00");
        assert_eq!(date_and_time(1, TimeUnit::Millisecond, ' ', ""), "1970-01-01 00:00:00.001");
        assert_eq!(date_and_time(-62_167_219_200, TimeUnit::Second, ' ', ""), "0001-01-01 00:00:00 BC");
    }
}
