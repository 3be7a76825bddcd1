//! Dates and times in SQL/JSON paths, which `.datetime()` makes of strings: their types, how they are written, and how
//! they compare.

use super::path_failures::PathFailure;
use atsdb_core::time::{DAY_MICROSECONDS, SECOND_MICROSECONDS};
use atsdb_core::{TimeUnit, calendar_text};
use std::cmp::Ordering;
use std::fmt;

/// A date or a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PathTime {
    pub(super) time_type: PathTimeType,
    /// Microseconds since the epoch, or since midnight if there is no date: of the local time.
    pub(super) local_micros: i64,
    /// The seconds by which the zone is ahead of UTC; 0 without a zone, as in the zone of every session.
    pub(super) ahead_seconds: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathTimeType {
    Date,
    Time,
    TimeWithZone,
    Timestamp,
    TimestampWithZone,
}

impl PathTimeType {
    /// Returns the type of a value that has some of a date, a time and a zone; `None` if no type has these parts.
    pub(super) fn of_parts(has_date: bool, has_time: bool, has_zone: bool) -> Option<Self> {
        match (has_date, has_time, has_zone) {
            (true, false, false) => Some(Self::Date),
            (false, true, false) => Some(Self::Time),
            (false, true, true) => Some(Self::TimeWithZone),
            (true, true, false) => Some(Self::Timestamp),
            (true, true, true) => Some(Self::TimestampWithZone),
            (_, false, _) => None,
        }
    }

    /// The name that `.type()` returns.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Date => "date",
            Self::Time => "time without time zone",
            Self::TimeWithZone => "time with time zone",
            Self::Timestamp => "timestamp without time zone",
            Self::TimestampWithZone => "timestamp with time zone",
        }
    }

    fn short_name(self) -> &'static str {
        match self {
            Self::Date => "date",
            Self::Time => "time",
            Self::TimeWithZone => "timetz",
            Self::Timestamp => "timestamp",
            Self::TimestampWithZone => "timestamptz",
        }
    }

    fn has_date(self) -> bool {
        matches!(self, Self::Date | Self::Timestamp | Self::TimestampWithZone)
    }

    fn has_zone(self) -> bool {
        matches!(self, Self::TimeWithZone | Self::TimestampWithZone)
    }
}

impl PathTime {
    /// Compares two of them; `None` if their types cannot be compared. Only if the path `uses_zone`, one without a zone
    /// can be compared with one that has a zone: it is then in UTC.
    pub(super) fn ordering(self, other: Self, uses_zone: bool) -> Result<Option<Ordering>, PathFailure> {
        let (own, others) = (self.time_type, other.time_type);
        if own.has_date() != others.has_date() {
            return Ok(None);
        }
        if own.has_zone() != others.has_zone() && !uses_zone {
            let (without, with) = if own.has_zone() { (others, own) } else { (own, others) };
            return Err(PathFailure::needs_zone(without.short_name(), with.short_name()));
        }
        let by_instant = self.instant().cmp(&other.instant());
        // Of the same time of day in two zones, that of the zone farther to the east is less.
        let by_zone = if own.has_date() { Ordering::Equal } else { other.ahead_seconds.cmp(&self.ahead_seconds) };
        Ok(Some(by_instant.then(by_zone)))
    }

    fn instant(self) -> i64 {
        self.local_micros.saturating_sub(self.ahead_seconds * SECOND_MICROSECONDS)
    }
}

/// Writes the time as PostgreSQL does in JSON: in the forms of ISO 8601.
impl fmt::Display for PathTime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zone = if self.time_type.has_zone() {
            let (sign, ahead) = (if self.ahead_seconds < 0 { '-' } else { '+' }, self.ahead_seconds.abs());
            format!("{sign}{:02}:{:02}", ahead / 3_600, ahead / 60 % 60)
        } else {
            String::new()
        };
        let micros = self.local_micros;
        out.write_str(&match self.time_type {
            PathTimeType::Date => calendar_text::date(micros.div_euclid(DAY_MICROSECONDS)),
            PathTimeType::Time | PathTimeType::TimeWithZone => {
                calendar_text::time(micros.rem_euclid(DAY_MICROSECONDS)) + &zone
            }
            PathTimeType::Timestamp | PathTimeType::TimestampWithZone => {
                calendar_text::date_and_time(micros, TimeUnit::Microsecond, 'T', &zone)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(time_type: PathTimeType, hours: i64, ahead_hours: i64) -> PathTime {
        let local_micros = hours * 3_600 * SECOND_MICROSECONDS;
        PathTime { time_type, local_micros, ahead_seconds: ahead_hours * 3_600 }
    }

    #[test]
    fn dates_and_times_compare_with_their_like() {
        use PathTimeType::{Date, Time, TimeWithZone, Timestamp, TimestampWithZone};
        let compare = |left: PathTime, right: PathTime| left.ordering(right, false).unwrap();
        assert_eq!(compare(time(Date, 24, 0), time(Timestamp, 25, 0)), Some(Ordering::Less));
        assert_eq!(compare(time(Date, 24, 0), time(Time, 24, 0)), None);
        assert_eq!(compare(time(TimestampWithZone, 2, 2), time(TimestampWithZone, 0, 0)), Some(Ordering::Equal));
        assert_eq!(compare(time(TimeWithZone, 13, 1), time(TimeWithZone, 12, 0)), Some(Ordering::Less));
        for (without, with) in [(Date, TimestampWithZone), (Timestamp, TimestampWithZone), (Time, TimeWithZone)] {
            let (without, with) = (time(without, 0, 0), time(with, 1, 2));
            assert!(with.ordering(without, false).is_err());
            assert_eq!(with.ordering(without, true).unwrap(), Some(Ordering::Less));
            assert_eq!(without.ordering(with, true).unwrap(), Some(Ordering::Greater));
        }
    }

    #[test]
    fn they_are_written_as_iso_8601_has_them() {
        let whole =
            PathTime { time_type: PathTimeType::TimestampWithZone, local_micros: 1_500_000, ahead_seconds: -19_800 };
        for (time_type, written) in [
            (PathTimeType::Date, "1970-01-01"),
            (PathTimeType::Time, "00:00:01.5"),
            (PathTimeType::TimeWithZone, "00:00:01.5-05:30"),
            (PathTimeType::Timestamp, "1970-01-01T00:00:01.5"),
            (PathTimeType::TimestampWithZone, "1970-01-01T00:00:01.5-05:30"),
        ] {
            assert_eq!(PathTime { time_type, ..whole }.to_string(), written);
        }
    }
}
