//! Times that were written as text, and a collation that compares them as times.
//!
//! With the collation it does not matter how a query writes a time: `2024-03-01`, `2024-03-01 12:00:00` as SQLite's
//! functions return it, or `2024-03-01T14:00:00+02:00`.

use atsdb_core::time::{DAY_SECONDS, days_from_civil};
use atsdb_core::time_text::{TimeForms, days_of_date, leading_number, parse_time};
use rusqlite::{Connection, Result};
use std::cmp::Ordering;

/// The name of the collation.
pub(crate) const COLLATION: &str = "atsdb_time";

/// The fractions of a second that an [`Instant`] counts: 10^-18.
pub(crate) const PER_SECOND: i128 = 1_000_000_000_000_000_000;
const FRACTION_DIGITS: usize = 18;

/// A time in fractions of a second since the Unix epoch.
pub(crate) type Instant = i128;

/// Registers the collation.
pub(crate) fn register(host: &Connection) -> Result<()> {
    host.create_collation(COLLATION, compare)
}

/// Compares times as times. Other text is after all times, byte by byte.
fn compare(a: &str, b: &str) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Parses a time in one of the forms of [`TimeForms::COLLATION`], a year or a month. A part that is missing has its
/// smallest value. Digits beyond those that an [`Instant`] counts are dropped.
pub(crate) fn parse(text: &str) -> Option<Instant> {
    let bytes = text.as_bytes();
    if let Some(instant) = usual(bytes) {
        return Some(instant);
    }
    let Some(time) = parse_time(bytes, &TimeForms::COLLATION) else { return year_or_month(bytes) };
    let digit = |position: usize| time.fraction().get(position).map_or(0, |digit| i128::from(digit - b'0'));
    let fraction = (0..FRACTION_DIGITS).fold(0, |value, position| value * 10 + digit(position));
    Some(time.seconds() * PER_SECOND + fraction)
}

/// Parses the form that the extension itself writes, and SQLite's functions nearly so: most comparisons are between
/// such times. After `None` the text may still be a time in another form.
fn usual(bytes: &[u8]) -> Option<Instant> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T' | b' ', h1, h2, b':', n1, n2, b':', s1, s2, rest @ ..] =
        bytes
    else {
        return None;
    };
    let two = |tens: &u8, ones: &u8| {
        let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
        (tens < 10 && ones < 10).then_some(i64::from(tens) * 10 + i64::from(ones))
    };
    let days = days_of_date(two(y1, y2)? * 100 + two(y3, y4)?, two(m1, m2)?, two(d1, d2)?)?;
    let (hour, minute, second) = (two(h1, h2)?, two(n1, n2)?, two(s1, s2)?);
    let fraction = match rest {
        [] | [b'Z'] => 0,
        [b'.', digits @ .., b'Z'] if matches!(digits.len(), 1..=9) && digits.iter().all(u8::is_ascii_digit) => {
            let value = digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
            value * 10_i64.pow((FRACTION_DIGITS - digits.len()) as u32)
        }
        _ => return None,
    };
    let seconds = days * DAY_SECONDS + hour * 3_600 + minute * 60 + second;
    (hour < 24 && minute < 60 && second < 60).then(|| i128::from(seconds) * PER_SECOND + i128::from(fraction))
}

/// `2024` or `2024-03`.
fn year_or_month(bytes: &[u8]) -> Option<Instant> {
    let (year, month) = match bytes {
        [year @ .., b'-', m1, m2] if year.len() == 4 => {
            (year, leading_number(&[*m1, *m2], 2).filter(|(_, n)| *n == 2)?.0)
        }
        year if year.len() == 4 => (year, 1),
        _ => return None,
    };
    let (year, _) = leading_number(year, 4).filter(|(_, digits)| *digits == 4)?;
    let month = u32::try_from(month).ok().filter(|month| (1..=12).contains(month))?;
    Some(i128::from(days_from_civil(year, month, 1)) * i128::from(DAY_SECONDS) * PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::TimeUnit;
    use atsdb_core::time::format_time;

    #[test]
    fn one_time_in_many_forms() {
        let noon = parse("2024-03-01T12:00:00Z").unwrap();
        for same in [
            "2024-03-01 12:00:00",
            "2024-03-01T12:00",
            "2024-03-01 12",
            "2024-03-01T14:00:00+02:00",
            "2024-03-01 12:00:00.000",
            "2024-03-01t11:30:00.0-0030",
            "2024-03-01 12:00:00 UTC",
            "2024-03-01 12:00:00.0000000000000000000001",
            "2024/3/1 12:00 PM",
            "20240301T120000Z",
        ] {
            assert_eq!(parse(same), Some(noon), "{same}");
        }
        assert_eq!(parse("2024"), parse("2024-01-01T00:00:00Z"));
        assert_eq!(parse("2024-03"), parse("2024-03-01"));
        assert_eq!(parse("2024-02-29 24:00"), parse("2024-03-01"));
        assert_eq!(parse("1970-01-01 00:00:00.5"), Some(PER_SECOND / 2));
        for wrong in [
            "",
            "x",
            "202",
            "20240301",
            "2024-13",
            "2024-02-30",
            "2024-03-01T",
            "2024-03-01T24:01",
            "2024-03-01x",
            "2024-03-01 12:60",
            "2024-03-01 12:00:00.",
            "2024-03-01 1",
            "1709294400",
            "2024-3",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_text_of_any_time_is_that_time_and_has_its_order() {
        for &unit in TimeUnit::ALL {
            let times = [i64::MIN, -62_200_000_000, -1, 0, 1, 1_709_294_400_123, 253_402_300_800_000_000, i64::MAX];
            let texts = times.map(|time| format_time(time, unit));
            for (time, text) in times.iter().zip(&texts) {
                let expected = i128::from(*time) * (PER_SECOND / i128::from(unit.per_second()));
                assert_eq!(parse(text), Some(expected), "{text}");
            }
            assert!(texts.is_sorted_by(|a, b| compare(a, b).is_lt()), "{texts:?}");
        }
    }

    #[test]
    fn other_text_is_after_all_times() {
        assert_eq!(compare("2024-03-01", "abc"), Ordering::Less);
        assert_eq!(compare("abc", "+99999-01-01"), Ordering::Greater);
        assert_eq!(compare("", "abc"), Ordering::Less);
    }
}
