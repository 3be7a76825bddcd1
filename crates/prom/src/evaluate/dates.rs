//! The calendar: UTC dates of seconds since 1970.

use atsdb_core::time::{DAY_SECONDS, civil_from_days, days_from_civil, days_in_month};

/// The parts of a moment in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) day_of_year: i64,
    /// The day of the week, from 0 for Sunday.
    pub(super) weekday: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
}

impl Moment {
    /// The moment of seconds since 1970.
    pub(super) fn of(seconds: i64) -> Self {
        let (days, rest) = (seconds.div_euclid(DAY_SECONDS), seconds.rem_euclid(DAY_SECONDS));
        let (year, month, day) = civil_from_days(days);
        let day_of_year = days - days_from_civil(year, 1, 1) + 1;
        let (month, day) = (i64::from(month), i64::from(day));
        Self {
            year,
            month,
            day,
            day_of_year,
            weekday: (days + 4).rem_euclid(7),
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
        }
    }

    pub(super) fn days_in_month(self) -> i64 {
        // A month is from 1 to 12.
        i64::from(days_in_month(self.year, self.month as u32))
    }
}

/// A time in milliseconds as `2024-02-29T12:00:00Z`.
pub(super) fn rfc3339(milliseconds: i64) -> String {
    let moment = Moment::of(milliseconds.div_euclid(1000));
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second
    )
}

/// The function with this name that returns a part of a time.
pub(super) fn part(name: &str) -> Option<fn(Moment) -> i64> {
    Some(match name {
        "day_of_month" => |moment| moment.day,
        "day_of_week" => |moment| moment.weekday,
        "day_of_year" => |moment| moment.day_of_year,
        "days_in_month" => Moment::days_in_month,
        "hour" => |moment| moment.hour,
        "minute" => |moment| moment.minute,
        "month" => |moment| moment.month,
        "year" => |moment| moment.year,
        _ => return None,
    })
}
