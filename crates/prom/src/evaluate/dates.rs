//! The calendar: UTC dates of seconds since 1970.

/// The parts of a moment in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) day_of_year: i64,
    /// From 0, a Sunday.
    pub(super) weekday: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
}

fn is_leap(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

impl Moment {
    /// The moment of seconds since 1970. Howard Hinnant's `civil_from_days`.
    pub(super) fn of(seconds: i64) -> Self {
        let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let before: i64 = (1..month).map(|month| days_in_month(year, month)).sum();
        Self {
            year,
            month,
            day,
            day_of_year: before + day,
            weekday: (days + 4).rem_euclid(7),
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
        }
    }

    pub(super) fn days_in_month(self) -> i64 {
        days_in_month(self.year, self.month)
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
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

/// The function of a name that takes a part of a moment.
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
