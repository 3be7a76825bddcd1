//! The fields of a date and time, read from a text by PostgreSQL's patterns.
//!
//! Owned here: the value of each field, and the day, the time of day and the zone that the fields make. Not owned: what
//! stands between fields, which `to_timestamp` skips and `.datetime()` compares.

use super::time_pattern::{PatternField, ROMAN, TimeField, without};
use atsdb_core::time::{
    DAY_SECONDS, EPOCH_JULIAN_DAY, SECOND_MICROSECONDS, civil_from_days, days_from_civil, days_in_month,
    first_iso_monday,
};
use atsdb_core::time_text::{MONTH_NAMES, WEEKDAY_NAMES};

/// The maximum number of digits of a number that no other field follows.
const DIGITS_MAX: usize = 18;

/// The values of the fields that have been read.
#[derive(Debug, Default)]
pub(crate) struct TimeFields {
    year: Option<i64>,
    is_before_christ: bool,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    iso_week: Option<i64>,
    iso_day: Option<i64>,
    week_of_year: Option<i64>,
    julian_day: Option<i64>,
    hour: i64,
    hour_of_half: Option<i64>,
    is_afternoon: bool,
    minute: i64,
    second: i64,
    second_of_day: Option<i64>,
    micros: i64,
    /// The offset from UTC.
    is_west: bool,
    zone_hour: i64,
    zone_minute: i64,
}

impl TimeFields {
    /// Takes a field from the start of a text, and returns the rest. `None` if the field is not there.
    pub(crate) fn take<'t>(&mut self, text: &'t str, pattern: PatternField, is_followed: bool) -> Option<&'t str> {
        Some(match pattern.field {
            TimeField::HalfOfDay { has_points } => {
                let (half, rest) = name_at(text, if has_points { &["a.m.", "p.m."] } else { &["am", "pm"] })?;
                self.is_afternoon = half == 1;
                rest
            }
            TimeField::Era { has_points } => {
                let (era, rest) = name_at(text, if has_points { &["a.d.", "b.c."] } else { &["ad", "bc"] })?;
                self.is_before_christ = era == 1;
                rest
            }
            TimeField::MonthName => self.take_month(text, &MONTH_NAMES)?,
            TimeField::MonthShort => self.take_month(text, &MONTH_NAMES.map(|month| &month[..3]))?,
            TimeField::MonthRoman => self.take_month(text, &ROMAN)?,
            // PostgreSQL ignores the name of a day.
            TimeField::DayName => name_at(text, &WEEKDAY_NAMES)?.1,
            TimeField::DayShort => name_at(text, &WEEKDAY_NAMES.map(|day| &day[..3]))?.1,
            TimeField::YearWithComma => {
                let (thousands, rest) = text.split_once(',')?;
                let (hundreds, rest) = rest.split_at_checked(3)?;
                self.year = Some(i64::from(format!("{thousands}{hundreds}").parse::<u32>().ok()?));
                rest
            }
            TimeField::Zone => name_at(text, &["UTC"])?.1,
            TimeField::ZoneHour | TimeField::ZoneOffset => {
                self.is_west = text.starts_with('-');
                self.take_number(text.strip_prefix(['+', '-']).unwrap_or(text), pattern, is_followed)?
            }
            _ => self.take_number(text, pattern, is_followed)?,
        })
    }

    fn take_month<'t>(&mut self, text: &'t str, names: &[&str]) -> Option<&'t str> {
        let (month, rest) = name_at(text, names)?;
        self.month = Some(month + 1);
        Some(rest)
    }

    fn take_number<'t>(&mut self, text: &'t str, pattern: PatternField, is_followed: bool) -> Option<&'t str> {
        // Before another field, a number has as many digits as its pattern; else it may have more.
        let most = if is_followed && !pattern.is_bare { pattern.field.digits_max() } else { DIGITS_MAX };
        let length = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = text.split_at(length);
        let number: i64 = digits.parse().ok()?;
        match pattern.field {
            TimeField::Hour24 => self.hour = number,
            TimeField::Hour12 => self.hour_of_half = Some(number),
            TimeField::Minute => self.minute = number,
            TimeField::Second => self.second = number,
            TimeField::SecondOfDay => self.second_of_day = Some(number),
            TimeField::Millisecond | TimeField::Microsecond | TimeField::Fraction(_) => {
                let length = u32::try_from(length).ok()?;
                self.micros =
                    if length > 6 { number / 10_i64.pow(length - 6) } else { number * 10_i64.pow(6 - length) };
            }
            TimeField::Year(digits) | TimeField::IsoYear(digits) => {
                self.year = Some(if digits < 4 && length < 4 { near_2020(number) } else { number });
            }
            TimeField::Month => self.month = Some(number),
            TimeField::Day => self.day = Some(number),
            TimeField::DayOfYear => self.day_of_year = Some(number),
            TimeField::IsoWeek => self.iso_week = Some(number),
            TimeField::IsoDayOfWeek => self.iso_day = Some(number),
            TimeField::WeekOfYear => self.week_of_year = Some(number),
            TimeField::JulianDay => self.julian_day = Some(number),
            TimeField::ZoneHour | TimeField::ZoneOffset => self.zone_hour = number,
            TimeField::ZoneMinute => self.zone_minute = number,
            // PostgreSQL ignores these.
            TimeField::DayOfWeek | TimeField::Quarter => {}
            _ => return None,
        }
        // `th` after a number takes as many letters, which may be others.
        Some(if pattern.ordinal.is_some() { rest.get(2..).unwrap_or("") } else { rest })
    }

    /// The time of day in microseconds; `None` if it does not exist.
    pub(crate) fn micros_of_day(&self) -> Option<i64> {
        let hour = match self.hour_of_half {
            Some(hour) if !(1..=12).contains(&hour) => return None,
            Some(hour) => hour % 12 + if self.is_afternoon { 12 } else { 0 },
            None => self.hour,
        };
        if hour > 23 || self.minute > 59 || self.second > 59 {
            return None;
        }
        let seconds = self.second_of_day.unwrap_or(hour * 3_600 + self.minute * 60 + self.second);
        (seconds < DAY_SECONDS).then(|| seconds * SECOND_MICROSECONDS + self.micros)
    }

    /// The zone's offset from UTC in seconds; 0 without a zone, and `None` if there is no such zone.
    pub(crate) fn ahead_seconds(&self) -> Option<i64> {
        if self.zone_hour > 15 || self.zone_minute > 59 {
            return None;
        }
        let ahead = self.zone_hour * 3_600 + self.zone_minute * 60;
        Some(if self.is_west { -ahead } else { ahead })
    }

    /// The day as a number of days since the epoch; `None` if it does not exist.
    pub(crate) fn days(&self) -> Option<i64> {
        if let Some(day) = self.julian_day {
            return Some(day - EPOCH_JULIAN_DAY);
        }
        // Without a year, it is 1 BC, as in PostgreSQL. It is the year 0 here.
        let year = match self.year {
            Some(year) if self.is_before_christ => 1 - year,
            Some(year) => year,
            None => 0,
        };
        if year.abs() > 290_000 {
            return None;
        }
        if let Some(week) = self.iso_week {
            let (monday, day) = (first_iso_monday(year), self.iso_day.unwrap_or(1));
            return ((1..=53).contains(&week) && (1..=7).contains(&day)).then_some(monday + (week - 1) * 7 + day - 1);
        }
        let first = days_from_civil(year, 1, 1);
        if let Some(day) = self.day_of_year.or(self.week_of_year.map(|week| (week - 1) * 7 + 1)) {
            let days = first + day - 1;
            return (civil_from_days(days).0 == year).then_some(days);
        }
        let month = u32::try_from(self.month.unwrap_or(1)).ok().filter(|month| (1..=12).contains(month))?;
        let day = u32::try_from(self.day.unwrap_or(1)).ok()?;
        (1..=days_in_month(year, month)).contains(&day).then(|| days_from_civil(year, month, day))
    }
}

/// The position of the longest of some names with which a text begins, in any case, and the rest of the text.
fn name_at<'t>(text: &'t str, names: &[&str]) -> Option<(i64, &'t str)> {
    let matches = (0..).zip(names).filter_map(|(at, name)| Some((at, without(text, name)?)));
    matches.min_by_key(|(_, rest)| rest.len())
}

/// A year of fewer than four digits: the nearest to 2020 that ends with them.
fn near_2020(year: i64) -> i64 {
    year + match year {
        0..=69 => 2_000,
        70..=99 => 1_900,
        100..=519 => 2_000,
        520..=999 => 1_000,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::time_pattern::{PatternPiece, pieces_of};
    use super::*;

    /// Reads adjacent fields.
    fn fields(text: &str, pattern: &str) -> Option<TimeFields> {
        let (mut fields, mut rest) = (TimeFields::default(), text);
        for piece in pieces_of(pattern) {
            let PatternPiece::Field(field) = piece else { continue };
            rest = fields.take(rest, field, true)?;
        }
        Some(fields)
    }

    /// The answers are those of PostgreSQL 15.
    #[test]
    fn the_time_of_day_must_exist() {
        const MINUTE_MICROS: i64 = 60 * SECOND_MICROSECONDS;
        for (text, pattern, minutes) in [
            ("1230", "HHMI", Some(30)),
            ("1230am", "HHMIAM", Some(30)),
            ("1230p.m.", "HHMIa.m.", Some(12 * 60 + 30)),
            ("1330", "HHMI", None),
            ("86340", "SSSSS", Some(24 * 60 - 1)),
            ("86400", "SSSSS", None),
        ] {
            let micros = fields(text, pattern).unwrap().micros_of_day();
            assert_eq!(micros, minutes.map(|minutes| minutes * MINUTE_MICROS), "{text}");
        }
        assert!(fields("12xm", "HHAM").is_none());
        assert!(fields("44xc", "YYBC").is_none());
    }

    #[test]
    fn a_zone_is_fewer_than_16_hours_away() {
        for (text, seconds) in [("+0530", Some(19_800)), ("-1559", Some(-57_540)), ("+1600", None), ("+0060", None)] {
            assert_eq!(fields(text, "TZHTZM").unwrap().ahead_seconds(), seconds, "{text}");
        }
    }

    #[test]
    fn the_longest_name_is_taken() {
        assert_eq!(name_at("viii.", &ROMAN), Some((7, ".")));
        assert_eq!(name_at("é", &ROMAN), None);
    }
}
