//! Times and dates in text, as counts of a unit, and the words that stand for times. The forms are those of
//! [`TimeForms::SQL`], and the further ones of [`calendar_text`].

use super::calendar_text;
use atsdb_core::TimeUnit;
pub use atsdb_core::time_text::RoundedFraction;
use atsdb_core::time_text::{self, TimeForms};

/// A word that stands for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeWord {
    /// `now`.
    Now,
    /// `today`.
    Today,
    /// `tomorrow`.
    Tomorrow,
    /// `yesterday`.
    Yesterday,
    /// `epoch`.
    Epoch,
}

impl TimeWord {
    /// The word in a text.
    pub fn read(text: &str) -> Option<Self> {
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
    pub fn sql(self) -> &'static str {
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
    i64::try_from(written(text)?.nearest(unit)).ok()
}

/// A parsed time, as a count of some unit since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenTime {
    /// The time rounded down.
    pub count: i128,
    /// The fraction of a unit that was rounded down.
    pub rest: RoundedFraction,
    /// Whether the text has an offset from UTC.
    pub has_offset: bool,
}

/// Reads `2024-03-01`, `2024-03-01 12:30`, `2024-03-01T12:30:00.25Z`, `...+02:00`, `20240301 123000`, and the forms of
/// [`calendar_text`]; years beyond four digits carry a sign. Without an offset it is UTC. `None` if it is invalid.
pub fn read_time(text: &str, unit: TimeUnit) -> Option<WrittenTime> {
    let time = written(text)?;
    let (count, rest) = time.count(unit);
    Some(WrittenTime { count, rest, has_offset: time.has_offset })
}

/// The days since the epoch that a text names: a date, or the one that is written in a time, whatever its offset.
pub fn parse_date(text: &str) -> Option<i32> {
    i32::try_from(written(text)?.days).ok()
}

fn written(text: &str) -> Option<time_text::WrittenTime<'_>> {
    let text = text.trim();
    time_text::parse_time(text.as_bytes(), &TimeForms::SQL).or_else(|| calendar_text::read(text))
}

/// Returns whether a text has the form of a day or of a time of day, and therefore only wrong numbers.
pub fn has_form_of_time(text: &str) -> bool {
    let text = text.trim();
    let is_number = |part: &str| !part.is_empty() && part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
    let first = text.split([' ', 'T']).next().unwrap_or_default();
    let parts = |separator: char| first.split(separator).collect::<Vec<_>>();
    let (day, clock) = (parts('-'), parts(':'));
    (day.len() == 3 && day.iter().all(|part| is_number(part)))
        || ((2..=3).contains(&clock.len()) && clock[..2].iter().all(|part| is_number(part)))
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
        for text in ["1970-01-01 00:00:00.1", "1970-01-01 23:59:59.9999999", "1970-01-01 24:00", "1970-01-01 01:00+02"]
        {
            assert_eq!(parse_date(text), Some(0), "{text}");
        }
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
        assert_eq!(parse_date("2024-03-01 25:00"), None);
    }
}
