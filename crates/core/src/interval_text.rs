//! Intervals as text in PostgreSQL's default style: `1 year 2 mons -3 days +04:05:06.7`.
//!
//! Owned here: writing. Not owned: reading ([`interval`](mod@crate::interval)).

use crate::calendar_text::push_clock;
use crate::time::{DAY_NANOSECONDS, TimeUnit};
use std::fmt::Write;

/// Writes an interval. Units that are zero are left out. A fraction of a second has up to nine digits.
#[must_use]
pub fn interval_text(months: i32, days: i32, nanoseconds: i64) -> String {
    let mut out = String::new();
    let mut is_before_negative = false;
    for (count, unit) in [(months / 12, "year"), (months % 12, "mon"), (days, "day")] {
        if count != 0 {
            let space = if out.is_empty() { "" } else { " " };
            let sign = if is_before_negative && count > 0 { "+" } else { "" };
            let plural = if count == 1 { "" } else { "s" };
            let _ = write!(out, "{space}{sign}{count} {unit}{plural}");
            is_before_negative = count < 0;
        }
    }
    if nanoseconds != 0 || out.is_empty() {
        if !out.is_empty() {
            out.push(' ');
        }
        if nanoseconds < 0 {
            out.push('-');
        } else if is_before_negative {
            out.push('+');
        }
        push_clock(&mut out, nanoseconds.unsigned_abs(), TimeUnit::Nanosecond);
    }
    out
}

/// Writes a duration of `count` units of `unit_nanos` nanoseconds: whole days, then the rest.
#[must_use]
pub fn duration_text(count: i64, unit_nanos: i64) -> String {
    let nanos = i128::from(count) * i128::from(unit_nanos);
    let (days, rest) = (nanos / i128::from(DAY_NANOSECONDS), nanos % i128::from(DAY_NANOSECONDS));
    match (i32::try_from(days), i64::try_from(rest)) {
        (Ok(days), Ok(rest)) => interval_text(0, days, rest),
        _ => format!("{days} days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_written_as_postgresql_writes_them() {
        const SECOND: i64 = 1_000_000_000;
        for (months, days, nanoseconds, wanted) in [
            (0, 0, 0, "00:00:00"),
            (14, 3, 14_706 * SECOND + 789_000_000, "1 year 2 mons 3 days 04:05:06.789"),
            (-1, 0, -3_600 * SECOND, "-1 mons -01:00:00"),
            (-1, 1, SECOND, "-1 mons +1 day 00:00:01"),
            (0, -1, 7_380 * SECOND, "-1 days +02:03:00"),
            (525, 27, 0, "43 years 9 mons 27 days"),
            (0, 0, SECOND * 3 / 2, "00:00:01.5"),
            (0, 0, 36 * 3_600 * SECOND, "36:00:00"),
            (0, 0, 1, "00:00:00.000000001"),
        ] {
            assert_eq!(interval_text(months, days, nanoseconds), wanted);
        }
    }

    #[test]
    fn durations_have_whole_days_and_a_rest() {
        assert_eq!(duration_text(129_600, 1_000_000_000), "1 day 12:00:00");
        assert_eq!(duration_text(-90_000_000, 1_000), "-00:01:30");
        assert_eq!(duration_text(i64::MAX, 1_000_000_000), "106751991167300 days");
    }
}
