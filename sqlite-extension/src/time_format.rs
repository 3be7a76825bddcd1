//! Times and dates as values of SQLite, and the times for which a comparison with such a value can be true.

use crate::error::module_error;
use crate::time_text::{self, PER_SECOND};
use atsdb_core::time::{DAY_SECONDS, format_date};
use atsdb_core::{ColumnType, TimeUnit};
use rusqlite::Result;
use rusqlite::types::ValueRef;

/// The Julian day of the Unix epoch.
const JULIAN_EPOCH: f64 = 2_440_587.5;

/// The representation of times in SQLite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeFormat {
    /// `2024-03-01T12:30:00.000Z`, and a date as `2024-03-01`.
    Text,
    /// Seconds since the Unix epoch: an integer for whole seconds and dates, else a floating point number.
    UnixEpoch,
    /// The Julian day.
    Julian,
    /// The stored count of the column's unit; of a date, the days.
    Integer,
}

impl TimeFormat {
    const ALL: [(&'static str, Self); 4] =
        [("text", Self::Text), ("unixepoch", Self::UnixEpoch), ("julian", Self::Julian), ("integer", Self::Integer)];

    pub(crate) fn parse(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found
            .map(|(_, format)| format)
            .ok_or_else(|| module_error(format!("unknown time format {name} (use text, unixepoch, julian or integer)")))
    }
}

/// A text as the number that SQLite compares with a column of numbers in its place, if it is one. Other values stay.
fn as_number(operand: ValueRef<'_>) -> ValueRef<'_> {
    let ValueRef::Text(text) = operand else { return operand };
    let has_form = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
    let Some(text) = std::str::from_utf8(text.trim_ascii()).ok().filter(|text| text.as_bytes().iter().all(has_form))
    else {
        return operand;
    };
    match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(integer), _) => ValueRef::Integer(integer),
        (Err(_), Ok(real)) => ValueRef::Real(real),
        (Err(_), Err(_)) => operand,
    }
}

/// The duration of one step of a time column's stored value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeScale {
    /// Steps in a second; 0 for a date, whose steps are days.
    per_second: i64,
    unit: TimeUnit,
}

/// A time as a value of SQLite.
#[derive(Debug, PartialEq)]
pub(crate) enum TimeValue<'a> {
    Text(&'a [u8]),
    Integer(i64),
    Real(f64),
}

/// Times as text. Consecutive times are mostly on the same day, so the text of the last day is kept.
#[derive(Debug, Default)]
pub(crate) struct TimeWriter {
    /// The day, and its length in the text.
    date: Option<(i64, usize)>,
    text: Vec<u8>,
}

impl TimeWriter {
    /// The text of a date.
    fn date(&mut self, day: i64) -> &[u8] {
        match self.date.filter(|(known, _)| *known == day) {
            Some((_, length)) => self.text.truncate(length),
            None => {
                self.text.clear();
                self.text.extend_from_slice(format_date(day).as_bytes());
                self.date = Some((day, self.text.len()));
            }
        }
        &self.text
    }

    /// The text of a time: that of `format_time`.
    fn time(&mut self, stored: i64, unit: TimeUnit) -> &[u8] {
        let seconds = stored.div_euclid(unit.per_second());
        let mut fraction = stored.rem_euclid(unit.per_second());
        self.date(seconds.div_euclid(DAY_SECONDS));
        let second_of_day = seconds.rem_euclid(DAY_SECONDS);
        for (separator, value) in
            [(b'T', second_of_day / 3_600), (b':', second_of_day / 60 % 60), (b':', second_of_day % 60)]
        {
            self.text.extend([separator, b'0' + (value / 10) as u8, b'0' + (value % 10) as u8]);
        }
        let digits = unit.fraction_digits();
        if digits > 0 {
            self.text.push(b'.');
            let start = self.text.len();
            self.text.resize(start + digits, b'0');
            for digit in self.text[start..].iter_mut().rev() {
                *digit += (fraction % 10) as u8;
                fraction /= 10;
            }
        }
        self.text.push(b'Z');
        &self.text
    }
}

/// The stored values for which a comparison can be true: from the first inclusive to the last inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredBounds {
    pub(crate) first: i64,
    pub(crate) last: i64,
}

/// A comparison with one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BoundSide {
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl BoundSide {
    /// The integers that satisfy the comparison with an operand between two adjacent integers, or at one: from the
    /// first to the last one inclusive.
    pub(crate) fn of_exact(self, below: i128, above: i128) -> (i128, i128) {
        match self {
            Self::Equal => (above, below),
            Self::Greater => (below + 1, i128::MAX),
            Self::GreaterOrEqual => (above, i128::MAX),
            Self::Less => (i128::MIN, above - 1),
            Self::LessOrEqual => (i128::MIN, below),
        }
    }

    /// The integers that can satisfy the comparison with an operand that is somewhere from `low` to `high`.
    pub(crate) fn of_inexact(self, low: i128, high: i128) -> (i128, i128) {
        match self {
            Self::Equal => (low, high),
            Self::Greater | Self::GreaterOrEqual => (low, i128::MAX),
            Self::Less | Self::LessOrEqual => (i128::MIN, high),
        }
    }
}

impl TimeScale {
    /// The scale of a timestamp or date; `None` for other columns.
    pub(crate) fn of(column: ColumnType) -> Option<Self> {
        match column {
            ColumnType::Timestamp(unit) => Some(Self { per_second: unit.per_second(), unit }),
            ColumnType::Date => Some(Self { per_second: 0, unit: TimeUnit::Second }),
            _ => None,
        }
    }

    fn is_date(self) -> bool {
        self.per_second == 0
    }

    /// Whether all values are integers in this format.
    pub(crate) fn is_integer(self, format: TimeFormat) -> bool {
        match format {
            TimeFormat::Integer => true,
            TimeFormat::UnixEpoch => self.per_second <= 1,
            TimeFormat::Text | TimeFormat::Julian => false,
        }
    }

    /// A stored value as a value of SQLite.
    pub(crate) fn value(self, stored: i64, format: TimeFormat, writer: &mut TimeWriter) -> TimeValue<'_> {
        match format {
            TimeFormat::Text if self.is_date() => TimeValue::Text(writer.date(stored)),
            TimeFormat::Text => TimeValue::Text(writer.time(stored, self.unit)),
            TimeFormat::Integer => TimeValue::Integer(stored),
            TimeFormat::UnixEpoch if self.is_date() => TimeValue::Integer(stored.saturating_mul(DAY_SECONDS)),
            TimeFormat::UnixEpoch if self.per_second == 1 => TimeValue::Integer(stored),
            TimeFormat::UnixEpoch => TimeValue::Real(stored as f64 / self.per_second as f64),
            TimeFormat::Julian => TimeValue::Real(stored as f64 / self.per_day() + JULIAN_EPOCH),
        }
    }

    fn per_day(self) -> f64 {
        if self.is_date() { 1.0 } else { self.per_second as f64 * DAY_SECONDS as f64 }
    }

    /// The stored values that can satisfy `value side operand` in this format, or more. `None` if there are none, and
    /// the outer `None` if the operand sets no bounds.
    pub(crate) fn bounds(
        self,
        side: BoundSide,
        operand: ValueRef<'_>,
        format: TimeFormat,
    ) -> Option<Option<StoredBounds>> {
        match (format, operand) {
            (TimeFormat::Text, ValueRef::Text(text)) => {
                let instant = time_text::parse(std::str::from_utf8(text).ok()?)?;
                let step = match self.is_date() {
                    true => i128::from(DAY_SECONDS) * PER_SECOND,
                    false => PER_SECOND / i128::from(self.per_second),
                };
                let (below, above) = (instant.div_euclid(step), -(-instant).div_euclid(step));
                Some(between(side, below, above))
            }
            (TimeFormat::Integer, operand) => number_bounds(side, operand),
            (TimeFormat::UnixEpoch, operand) if self.per_second == 1 => number_bounds(side, operand),
            (TimeFormat::UnixEpoch, operand) => {
                let seconds = real(operand)?;
                let scale = if self.is_date() { 1.0 / DAY_SECONDS as f64 } else { self.per_second as f64 };
                near(side, seconds * scale)
            }
            (TimeFormat::Julian, operand) => {
                let days = real(operand)?;
                // A Julian day is exact to about 40 microseconds: near the epoch much is lost by the difference.
                let slack = self.per_day() * 1e-9;
                widened(side, (days - JULIAN_EPOCH) * self.per_day(), slack)
            }
            (TimeFormat::Text, _) => None,
        }
    }
}

fn real(operand: ValueRef<'_>) -> Option<f64> {
    match as_number(operand) {
        ValueRef::Integer(value) => Some(value as f64),
        ValueRef::Real(value) => Some(value),
        _ => None,
    }
}

/// The integers that can satisfy `integer side operand`, or more.
pub(crate) fn number_bounds(side: BoundSide, operand: ValueRef<'_>) -> Option<Option<StoredBounds>> {
    match as_number(operand) {
        ValueRef::Integer(value) => Some(between(side, i128::from(value), i128::from(value))),
        ValueRef::Real(value) => near(side, value),
        _ => None,
    }
}

/// The same for an operand that was computed in floating point.
fn near(side: BoundSide, value: f64) -> Option<Option<StoredBounds>> {
    widened(side, value, 0.0)
}

fn widened(side: BoundSide, value: f64, slack: f64) -> Option<Option<StoredBounds>> {
    // Three units in the last place, plus the inexactness that the caller knows of.
    let slack = slack + value.abs() * 1e-15 + 1.0;
    let (low, high) = ((value - slack).floor(), (value + slack).ceil());
    // Conversions saturate; a NaN is not a value of SQLite.
    Some(clamped(side.of_inexact(low as i128, high as i128)))
}

/// The integers for an operand between two adjacent integers, or at one.
pub(crate) fn between(side: BoundSide, below: i128, above: i128) -> Option<StoredBounds> {
    clamped(side.of_exact(below, above))
}

fn clamped((first, last): (i128, i128)) -> Option<StoredBounds> {
    let (min, max) = (i128::from(i64::MIN), i128::from(i64::MAX));
    let is_empty = first > last || first > max || last < min;
    (!is_empty).then(|| StoredBounds { first: first.clamp(min, max) as i64, last: last.clamp(min, max) as i64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: ColumnType = ColumnType::Timestamp(TimeUnit::Millisecond);

    fn bounds(column: ColumnType, side: BoundSide, text: &str) -> Option<Option<(i64, i64)>> {
        let scale = TimeScale::of(column).unwrap();
        let found = scale.bounds(side, ValueRef::Text(text.as_bytes()), TimeFormat::Text);
        found.map(|found| found.map(|found| (found.first, found.last)))
    }

    #[test]
    fn a_written_time_bounds_the_stored_ones_exactly() {
        assert_eq!(bounds(MS, BoundSide::GreaterOrEqual, "1970-01-01T00:00:01.5Z"), Some(Some((1_500, i64::MAX))));
        assert_eq!(bounds(MS, BoundSide::Greater, "1970-01-01T00:00:01.5Z"), Some(Some((1_501, i64::MAX))));
        assert_eq!(bounds(MS, BoundSide::Less, "1970-01-01 00:00:01.5004"), Some(Some((i64::MIN, 1_500))));
        assert_eq!(bounds(MS, BoundSide::Equal, "1970-01-01 00:00:01.5004"), Some(None));
        assert_eq!(bounds(MS, BoundSide::Equal, "1969-12-31 23:59:59.999"), Some(Some((-1, -1))));
        assert_eq!(bounds(ColumnType::Date, BoundSide::LessOrEqual, "1970-01-02 12:00"), Some(Some((i64::MIN, 1))));
        assert_eq!(bounds(ColumnType::Date, BoundSide::GreaterOrEqual, "1970-01-02 12:00"), Some(Some((2, i64::MAX))));
        assert_eq!(bounds(MS, BoundSide::Less, "yesterday"), None);
        assert_eq!(bounds(ColumnType::Timestamp(TimeUnit::Nanosecond), BoundSide::Greater, "2500-01-01"), Some(None));
    }

    #[test]
    fn a_text_that_is_a_number_bounds_numbers() {
        let bounds = |text: &str| number_bounds(BoundSide::Equal, ValueRef::Text(text.as_bytes()));
        let is_seven = |text: &str| bounds(text).unwrap().is_some_and(|found| found.first <= 7 && 7 <= found.last);
        for text in ["7", " +7\t", "7.0", "70e-1", "7."] {
            assert!(is_seven(text), "{text}");
        }
        assert_eq!(bounds("7"), Some(Some(StoredBounds { first: 7, last: 7 })));
        assert!(!is_seven("12"));
        for text in ["", "seven", "7x", "7e", "inf", "nan", "0x7", "."] {
            assert_eq!(bounds(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_written_as_everywhere() {
        let mut writer = TimeWriter::default();
        for &unit in TimeUnit::ALL {
            for stored in [0, 1, -1, 86_399_999, 1_709_294_400_123, i64::MIN, 7, i64::MAX, i64::MAX - 1] {
                let scale = TimeScale::of(ColumnType::Timestamp(unit)).unwrap();
                let expected = atsdb_core::time::format_time(stored, unit);
                let written = scale.value(stored, TimeFormat::Text, &mut writer);
                assert_eq!(written, TimeValue::Text(expected.as_bytes()), "{expected}");
            }
        }
        let scale = TimeScale::of(ColumnType::Date).unwrap();
        assert_eq!(scale.value(19_783, TimeFormat::Text, &mut writer), TimeValue::Text(b"2024-03-01"));
    }

    #[test]
    fn numbers_bound_no_more_than_they_say() {
        for format in [TimeFormat::UnixEpoch, TimeFormat::Julian, TimeFormat::Integer] {
            for &unit in TimeUnit::ALL {
                let scale = TimeScale::of(ColumnType::Timestamp(unit)).unwrap();
                for stored in [i64::MIN, -1, 0, 1, 1_709_294_400_123, 1_709_294_400_123_456_789, i64::MAX] {
                    let mut writer = TimeWriter::default();
                    let operand = match scale.value(stored, format, &mut writer) {
                        TimeValue::Integer(value) => ValueRef::Integer(value),
                        TimeValue::Real(value) => ValueRef::Real(value),
                        TimeValue::Text(text) => ValueRef::Text(text),
                    };
                    for side in [BoundSide::Equal, BoundSide::GreaterOrEqual, BoundSide::LessOrEqual] {
                        let found = scale.bounds(side, operand, format).unwrap().unwrap();
                        assert!(found.first <= stored && stored <= found.last, "{format:?} {unit} {stored} {side:?}");
                    }
                }
            }
        }
    }
}
