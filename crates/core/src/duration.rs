//! Durations as flags, environment variables and table options write them: `500ms`, `30 s`, `1.5 hours`, `90d`, `2
//! years`.
//!
//! One grammar serves durations of fixed length ([`parse_duration`]) and counts of calendar intervals
//! ([`Retention`](crate::Retention)). SQL's `INTERVAL` has more forms and is read in `dialect`.

use crate::error::{Error, Result};
use crate::quantity::{multiply_decimal, split_number_and_unit};
use std::time::Duration;

/// A unit of durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DurationUnit {
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

impl DurationUnit {
    /// The unit of a name in either case: its letter, an abbreviation, the singular or the plural.
    fn parse(name: &str) -> Option<Self> {
        const NAMES: [(DurationUnit, &[&str]); 8] = [
            (DurationUnit::Millisecond, &["ms", "millisecond", "milliseconds"]),
            (DurationUnit::Second, &["s", "sec", "second", "seconds"]),
            (DurationUnit::Minute, &["m", "min", "minute", "minutes"]),
            (DurationUnit::Hour, &["h", "hour", "hours"]),
            (DurationUnit::Day, &["d", "day", "days"]),
            (DurationUnit::Week, &["w", "week", "weeks"]),
            (DurationUnit::Month, &["mo", "month", "months"]),
            (DurationUnit::Year, &["y", "year", "years"]),
        ];
        let has_name = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        NAMES.iter().find(|(_, names)| has_name(names)).map(|(unit, _)| *unit)
    }

    /// Returns the length of the unit in milliseconds; `None` for months and years, which have no fixed length.
    const fn milliseconds(self) -> Option<u64> {
        match self {
            Self::Millisecond => Some(1),
            Self::Second => Some(1_000),
            Self::Minute => Some(60_000),
            Self::Hour => Some(3_600_000),
            Self::Day => Some(24 * 3_600_000),
            Self::Week => Some(7 * 24 * 3_600_000),
            Self::Month | Self::Year => None,
        }
    }
}

/// Splits a duration into its number, as written, and its unit, if it has one. Returns `None` if the unit is unknown.
pub(crate) fn split_duration(text: &str) -> Option<(&str, Option<DurationUnit>)> {
    let (number, unit) = split_number_and_unit(text);
    match unit {
        "" => Some((number, None)),
        unit => Some((number, Some(DurationUnit::parse(unit)?))),
    }
}

/// Parses a duration of fixed length, with nanosecond precision.
///
/// It is a decimal number and a unit from milliseconds to weeks in either case, with or without a space between; `m` is
/// minutes. A number without a unit counts seconds. Zero, months and years, and everything else, is a
/// [`Usage`](crate::ErrorKind::Usage) error.
pub fn parse_duration(text: &str) -> Result<Duration> {
    const NANOSECONDS: u128 = 1_000_000_000;
    let parse = || {
        let (number, unit) = split_duration(text)?;
        let unit_ms = unit.unwrap_or(DurationUnit::Second).milliseconds()?;
        let nanoseconds = multiply_decimal(number, u128::from(unit_ms) * 1_000_000)?;
        let seconds = u64::try_from(nanoseconds / NANOSECONDS).ok()?;
        Some(Duration::new(seconds, (nanoseconds % NANOSECONDS) as u32))
    };
    parse().filter(|duration| !duration.is_zero()).ok_or_else(|| {
        Error::usage(format!("cannot read the duration {text:?}"))
            .with_hint("write it as 500ms, 30s, 5min or '2 hours'")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_and_without_a_unit() {
        for (text, millis) in [
            ("30s", 30_000),
            ("500 ms", 500),
            ("1.5min", 90_000),
            ("2H", 7_200_000),
            ("2 hours", 7_200_000),
            ("90d", 90 * 86_400_000),
            ("45", 45_000),
        ] {
            assert_eq!(parse_duration(text).unwrap(), Duration::from_millis(millis), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_duration_of_fixed_length_is_refused() {
        for bad in ["", "s", "-1s", "0", "1 month", "2y", "1 fortnight", "1..2s", "99999999999999999999h"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
