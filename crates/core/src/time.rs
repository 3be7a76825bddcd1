//! Time: an i64 count of a unit since the Unix epoch in UTC, in the proleptic Gregorian calendar, for all values of
//! i64.

use crate::error::Result;
use crate::name::parse_name;
use serde::{Deserialize, Serialize};
use std::fmt;
use strum::{IntoStaticStr, VariantArray};

/// The unit of a time column.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
pub enum TimeUnit {
    /// Seconds.
    #[serde(rename = "s")]
    #[strum(serialize = "s")]
    Second,
    /// Milliseconds.
    #[serde(rename = "ms")]
    #[strum(serialize = "ms")]
    Millisecond,
    /// Microseconds.
    #[serde(rename = "us")]
    #[strum(serialize = "us")]
    Microsecond,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    #[strum(serialize = "ns")]
    Nanosecond,
}

impl TimeUnit {
    /// All units, coarsest first.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The number of units in a second.
    pub const fn per_second(self) -> i64 {
        match self {
            Self::Second => 1,
            Self::Millisecond => 1_000,
            Self::Microsecond => 1_000_000,
            Self::Nanosecond => 1_000_000_000,
        }
    }

    /// `s`, `ms`, `us` or `ns`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Parses a [`name`](Self::name) in either case. Everything else is a [`Usage`](crate::ErrorKind::Usage) error.
    pub fn parse(text: &str) -> Result<Self> {
        parse_name("time unit", text)
    }

    /// The number of decimal places of a second: 0, 3, 6 or 9.
    pub const fn fraction_digits(self) -> usize {
        match self {
            Self::Second => 0,
            Self::Millisecond => 3,
            Self::Microsecond => 6,
            Self::Nanosecond => 9,
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A range of times from `start` inclusive to `end` exclusive, in a table's unit; `None` is unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeRange {
    /// The first time inside; `None` if there is no lower bound.
    pub start: Option<i64>,
    /// The first time after the range; `None` if there is no upper bound.
    pub end: Option<i64>,
}

impl TimeRange {
    /// All times.
    pub const ALL: Self = Self { start: None, end: None };

    /// Returns whether the range contains a time.
    pub fn contains(&self, time: i64) -> bool {
        self.start.is_none_or(|start| start <= time) && self.end.is_none_or(|end| time < end)
    }

    /// Returns whether the range contains any time from `min` to `max` inclusive.
    pub fn overlaps(&self, min: i64, max: i64) -> bool {
        self.start.is_none_or(|start| start <= max) && self.end.is_none_or(|end| min < end)
    }

    /// Returns whether the range contains every time from `min` to `max` inclusive.
    pub fn covers(&self, min: i64, max: i64) -> bool {
        self.contains(min) && self.contains(max)
    }

    /// Returns the times that are in both ranges.
    pub fn intersect(&self, other: &Self) -> Self {
        let start = match (self.start, other.start) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        let end = match (self.end, other.end) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self { start, end }
    }
}

impl From<std::ops::Range<i64>> for TimeRange {
    fn from(range: std::ops::Range<i64>) -> Self {
        Self { start: Some(range.start), end: Some(range.end) }
    }
}

impl From<std::ops::RangeFrom<i64>> for TimeRange {
    fn from(range: std::ops::RangeFrom<i64>) -> Self {
        Self { start: Some(range.start), end: None }
    }
}

impl From<std::ops::RangeTo<i64>> for TimeRange {
    fn from(range: std::ops::RangeTo<i64>) -> Self {
        Self { start: None, end: Some(range.end) }
    }
}

impl From<std::ops::RangeFull> for TimeRange {
    fn from(_: std::ops::RangeFull) -> Self {
        Self::ALL
    }
}

/// The number of microseconds in a second.
pub const SECOND_MICROSECONDS: i64 = 1_000_000;

/// The number of seconds in a day.
pub const DAY_SECONDS: i64 = 86_400;

/// The number of milliseconds in a day.
pub const DAY_MILLISECONDS: i64 = DAY_SECONDS * 1_000;

/// The number of microseconds in a day. A time of day is less.
pub const DAY_MICROSECONDS: i64 = DAY_SECONDS * SECOND_MICROSECONDS;

/// The number of nanoseconds in a day.
pub const DAY_NANOSECONDS: i64 = DAY_MICROSECONDS * 1_000;

/// Returns the days since 1970-01-01 of a date. The month is 1 to 12, the day 1 to 31; the day is not checked against
/// the month.
///
/// Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
pub fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((i64::from(month) + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Returns the date (year, month, day) of a number of days since 1970-01-01.
pub fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u32;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 } as u32;
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// The Julian day of 1970-01-01, as PostgreSQL counts: days begin at midnight.
pub const EPOCH_JULIAN_DAY: i64 = 2_440_588;

/// Returns the days since 1970-01-01 of the Monday of a year's first week of ISO 8601, which has its fourth of January.
pub fn first_iso_monday(year: i64) -> i64 {
    let fourth = days_from_civil(year, 1, 4);
    // The epoch began on a Thursday.
    fourth - (fourth + 3).rem_euclid(7)
}

/// Returns the number of days in a month.
pub fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Formats a time: `2024-03-01T12:30:00`, with 3, 6 or 9 decimal places where the unit is finer than a second, and a
/// final `Z`. It works for every i64; years outside 0 to 9999 carry a sign.
pub fn format_time(time: i64, unit: TimeUnit) -> String {
    let seconds = time.div_euclid(unit.per_second());
    let fraction = time.rem_euclid(unit.per_second());
    let (date, second_of_day) = (format_date(seconds.div_euclid(DAY_SECONDS)), seconds.rem_euclid(DAY_SECONDS));
    let (hour, minute, second) = (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60);
    match unit.fraction_digits() {
        0 => format!("{date}T{hour:02}:{minute:02}:{second:02}Z"),
        digits => format!("{date}T{hour:02}:{minute:02}:{second:02}.{fraction:0digits$}Z"),
    }
}

/// Formats a date: `2024-03-01`.
pub fn format_date(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    if (0..=9_999).contains(&year) {
        format!("{year:04}-{month:02}-{day:02}")
    } else {
        format!("{year:+05}-{month:02}-{day:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn civil_dates_come_back_over_all_of_i64_seconds() {
        let far = i64::MAX / DAY_SECONDS;
        for days in [-far, -719_469, -719_468, -1, 0, 59, 11_016, 19_782, far] {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
        assert_eq!(civil_from_days(11_016), (2000, 2, 29));
        let mondays = [2020, 2021, 2024].map(|year| civil_from_days(first_iso_monday(year)));
        assert_eq!(mondays, [(2019, 12, 30), (2021, 1, 4), (2024, 1, 1)]);
    }

    #[test]
    fn times_before_the_epoch_and_at_the_ends_have_text() {
        assert_eq!(format_time(-1, TimeUnit::Millisecond), "1969-12-31T23:59:59.999Z");
        assert_eq!(format_time(i64::MAX, TimeUnit::Nanosecond), "2262-04-11T23:47:16.854775807Z");
        assert_eq!(format_time(i64::MIN, TimeUnit::Second), "-292277022657-01-27T08:29:52Z");
    }

    #[test]
    fn a_range_has_its_start_and_not_its_end() {
        let range = TimeRange::from(10..20);
        assert!(range.contains(10) && !range.contains(20) && range.overlaps(0, 10) && !range.overlaps(20, 30));
        assert!(TimeRange::ALL.contains(i64::MIN) && TimeRange::ALL.contains(i64::MAX));
    }
}
