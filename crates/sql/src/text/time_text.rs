//! Times and dates in text: the forms of ISO 8601 that people and databases write, for every time that fits i64.

use atsdb_core::TimeUnit;
use atsdb_core::time::DAY_SECONDS;
use atsdb_core::time_text::{DateForm, days_of_date, leading_number, utc_offset, year_first_date};

/// Dates in SQL: two digits for month and day.
const DATE: DateForm = DateForm { separators: b"-/", digits_min: 2 };

/// The digits of a date without separators: `20240301`.
const COMPACT_DATE_DIGITS: usize = 8;

/// A word that stands for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeWord {
    Now,
    Today,
    Tomorrow,
    Yesterday,
    Epoch,
}

impl TimeWord {
    /// The word in a text.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let words = [
            ("now", Self::Now),
            ("today", Self::Today),
            ("tomorrow", Self::Tomorrow),
            ("yesterday", Self::Yesterday),
            ("epoch", Self::Epoch),
        ];
        let text = text.trim();
        words.into_iter().find(|(word, _)| text.eq_ignore_ascii_case(word)).map(|(_, word)| word)
    }

    /// The time as an expression.
    pub(crate) fn sql(self) -> &'static str {
        match self {
            Self::Now => "now()",
            Self::Today => "current_date()",
            Self::Tomorrow => "(current_date() + INTERVAL '1 day')",
            Self::Yesterday => "(current_date() - INTERVAL '1 day')",
            Self::Epoch => "'1970-01-01'",
        }
    }
}

/// Parses a time and rounds it to the nearest count of `unit` since the epoch. `None` if the text is invalid, or the
/// time is out of the range of i64.
pub fn parse_time(text: &str, unit: TimeUnit) -> Option<i64> {
    let WrittenTime { count, rest, .. } = read_time(text, unit)?;
    i64::try_from(count + i128::from(matches!(rest, Rest::HalfOrMore))).ok()
}

/// A parsed time, as a count of some unit since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WrittenTime {
    /// The time rounded down.
    pub(crate) count: i128,
    pub(crate) rest: Rest,
    /// Whether the text has an offset from UTC.
    pub(crate) has_offset: bool,
}

/// The fraction of a unit that was rounded down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    Nothing,
    LessThanHalf,
    HalfOrMore,
}

/// Reads `2024-03-01`, `2024-03-01 12:30`, `2024-03-01T12:30:00.25Z`, `...+02:00`, `20240301 123000`; years beyond four
/// digits carry a sign. Without an offset it is UTC. `None` if the text is invalid.
pub(crate) fn read_time(text: &str, unit: TimeUnit) -> Option<WrittenTime> {
    let mut reader = Reader { bytes: text.trim().as_bytes() };
    let days = reader.date()?;
    let (mut second_of_day, mut fraction, mut rest, mut has_offset) = (0, 0, Rest::Nothing, false);
    if reader.take(b'T') || reader.take(b't') || reader.take(b' ') {
        let hour = reader.two_digits(24)?;
        let has_colons = reader.take(b':');
        let minute = reader.two_digits(59)?;
        let has_second = if has_colons { reader.take(b':') } else { reader.begins_with_digit() };
        let second = if has_second { reader.two_digits(59)? } else { 0 };
        if reader.take(b'.') || reader.take(b',') {
            (fraction, rest) = reader.fraction(unit)?;
        }
        if hour == 24 && (minute, second, fraction, rest) != (0, 0, 0, Rest::Nothing) {
            return None;
        }
        let offset = reader.offset_seconds()?;
        has_offset = offset.is_some();
        second_of_day = hour * 3_600 + minute * 60 + second - offset.unwrap_or(0);
    }
    if !reader.bytes.is_empty() {
        return None;
    }
    let seconds = i128::from(days) * i128::from(DAY_SECONDS) + i128::from(second_of_day);
    let count = seconds * i128::from(unit.per_second()) + i128::from(fraction);
    Some(WrittenTime { count, rest, has_offset })
}

/// The days since the epoch that a text names: a date, or a time at midnight.
pub(crate) fn parse_date(text: &str) -> Option<i32> {
    let WrittenTime { count, rest: Rest::Nothing, .. } = read_time(text, TimeUnit::Second)? else { return None };
    let day = i128::from(DAY_SECONDS);
    (count.rem_euclid(day) == 0).then(|| i32::try_from(count.div_euclid(day)).ok())?
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn take(&mut self, byte: u8) -> bool {
        let found = self.bytes.first() == Some(&byte);
        if found {
            self.bytes = &self.bytes[1..];
        }
        found
    }

    /// A number of two digits that is at most `max`.
    fn two_digits(&mut self, max: i64) -> Option<i64> {
        let (value, 2) = leading_number(self.bytes, 2)? else { return None };
        self.bytes = &self.bytes[2..];
        (value <= max).then_some(value)
    }

    fn begins_with_digit(&self) -> bool {
        self.bytes.first().is_some_and(u8::is_ascii_digit)
    }

    fn date(&mut self) -> Option<i64> {
        if let Some(digits) =
            self.bytes.get(..COMPACT_DATE_DIGITS).filter(|digits| digits.iter().all(u8::is_ascii_digit))
        {
            let ((year, _), (month, _), (day, _)) =
                (leading_number(digits, 4)?, leading_number(&digits[4..], 2)?, leading_number(&digits[6..], 2)?);
            self.bytes = &self.bytes[COMPACT_DATE_DIGITS..];
            return days_of_date(year, month, day);
        }
        let (days, length) = year_first_date(self.bytes, DATE)?;
        self.bytes = &self.bytes[length..];
        Some(days)
    }

    /// The digits after the decimal point, in the unit, and the remainder of further digits.
    fn fraction(&mut self, unit: TimeUnit) -> Option<(i64, Rest)> {
        let count = self.bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.bytes.split_at(count);
        self.bytes = rest;
        let kept = unit.fraction_digits();
        if count == 0 {
            return None;
        }
        let rest = match digits.get(kept) {
            Some(b'5'..) => Rest::HalfOrMore,
            Some(_) if digits[kept..].iter().any(|digit| *digit != b'0') => Rest::LessThanHalf,
            _ => Rest::Nothing,
        };
        let digit = |position: usize| digits.get(position).map_or(0, |digit| i64::from(digit - b'0'));
        Some(((0..kept).fold(0, |value, position| value * 10 + digit(position)), rest))
    }

    /// The offset from UTC, if the text has one.
    fn offset_seconds(&mut self) -> Option<Option<i64>> {
        while self.take(b' ') {}
        match std::mem::take(&mut self.bytes) {
            [] => Some(None),
            offset => utc_offset(offset, &["Z", "UTC"]).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::time::format_time;

    #[test]
    fn what_is_written_is_read_back_for_every_time() {
        for &unit in TimeUnit::ALL {
            for time in [i64::MIN, -1, 0, 1, 1_709_294_400, 1_709_294_400_123_456_789, i64::MAX] {
                assert_eq!(parse_time(&format_time(time, unit), unit), Some(time), "{}", format_time(time, unit));
            }
        }
    }

    #[test]
    fn the_ways_to_write_a_time() {
        let noon = Some(1_709_294_400);
        for text in ["2024-03-01 12:00", "2024-03-01T12:00:00Z", "2024-03-01 14:00:00+02", "2024-03-01 06:30:00 -05:30"]
        {
            assert_eq!(parse_time(text, TimeUnit::Second), noon, "{text}");
        }
        assert_eq!(parse_time("2024-03-01 12:00:00.250", TimeUnit::Millisecond), Some(1_709_294_400_250));
        assert_eq!(parse_date("2024-03-01"), Some(19_783));
        assert_eq!(parse_date("1969-12-31 00:00:00"), Some(-1));
        assert_eq!(parse_date("20240301"), Some(19_783));
        for text in ["20240301 120000", "20240301T1200", "2024-03-01 120000Z"] {
            assert_eq!(parse_time(text, TimeUnit::Second), noon, "{text}");
        }
    }

    #[test]
    fn a_time_between_two_counts_goes_to_the_nearest() {
        for (text, expected) in [
            ("1970-01-01 00:00:01.4999999999", 1),
            ("1970-01-01 00:00:01.5", 2),
            ("1969-12-31 23:59:58.5", -1),
            ("1969-12-31 23:59:58.25", -2),
        ] {
            assert_eq!(parse_time(text, TimeUnit::Second), Some(expected), "{text}");
        }
        assert_eq!(parse_date("1970-01-01 00:00:00.1"), None);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "2024",
            "2024030",
            "202403011",
            "20241301",
            "20240301 12",
            "2024-13-01",
            "2023-02-29",
            "2024-03-01 25:00",
            "2024-03-01x",
            "2024-03-01 12:00:00.",
        ] {
            assert_eq!(parse_time(text, TimeUnit::Second), None, "{text}");
        }
        assert_eq!(parse_time("2500-01-01", TimeUnit::Nanosecond), None);
        assert_eq!(parse_date("2024-03-01 12:00"), None);
    }
}
