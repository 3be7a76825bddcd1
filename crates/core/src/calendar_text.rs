//! Dates and times as text in PostgreSQL's default style: `2024-01-31 12:00:00.5+00`, `0044-03-15 BC`.
//!
//! Owned here: writing. Not owned: reading ([`time_text`](mod@crate::time_text)).

use crate::time::{DAY_MICROSECONDS, civil_from_days};
use std::fmt::Write;

/// `2024-01-31`; years before the first are followed by ` BC`, which the caller puts at the end.
fn push_civil(out: &mut String, days: i64) -> bool {
    let (year, month, day) = civil_from_days(days);
    let is_before_christ = year <= 0;
    let year = if is_before_christ { 1 - year } else { year };
    let _ = write!(out, "{year:04}-{month:02}-{day:02}");
    is_before_christ
}

/// `2024-01-31`.
#[must_use]
pub fn date(days: i64) -> String {
    let mut out = String::with_capacity(10);
    if push_civil(&mut out, days) {
        out.push_str(" BC");
    }
    out
}

/// `2024-01-31 12:00:00.5`, with `+00` if the type has a zone.
#[must_use]
pub fn timestamp(microseconds: i64, has_zone: bool) -> String {
    let mut out = String::with_capacity(32);
    let is_before_christ = push_civil(&mut out, microseconds.div_euclid(DAY_MICROSECONDS));
    out.push(' ');
    push_time(&mut out, microseconds.rem_euclid(DAY_MICROSECONDS));
    if has_zone {
        out.push_str("+00");
    }
    if is_before_christ {
        out.push_str(" BC");
    }
    out
}

/// `12:00:00.5`, of microseconds since midnight.
#[must_use]
pub fn time(microseconds: i64) -> String {
    let mut out = String::with_capacity(16);
    push_time(&mut out, microseconds);
    out
}

fn push_time(out: &mut String, microseconds: i64) {
    let seconds = microseconds / 1_000_000;
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    let _ = write!(out, "{hours:02}:{minutes:02}:{:02}", seconds % 60);
    push_fraction(out, microseconds % 1_000_000);
}

fn push_fraction(out: &mut String, microseconds: i64) {
    if microseconds != 0 {
        let digits = format!("{microseconds:06}");
        out.push('.');
        out.push_str(digits.trim_end_matches('0'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_postgresql_does() {
        assert_eq!(timestamp(1_700_000_000_500_000, true), "2023-11-14 22:13:20.5+00");
        assert_eq!(timestamp(-1, false), "1969-12-31 23:59:59.999999");
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(-719_528), "0001-01-01 BC");
        assert_eq!(date(2_932_897), "10000-01-01");
        assert_eq!(time(DAY_MICROSECONDS - 1), "23:59:59.999999");
    }
}
