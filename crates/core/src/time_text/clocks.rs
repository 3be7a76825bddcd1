//! Times of day, with their offset from UTC.

use crate::time_text::forms::{CompactTimes, TimeForms};
use crate::time_text::parts::{leading_number, two_digits, utc_offset};

/// A time of day in the parts that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock<'a> {
    /// Seconds after midnight of the clock's day. `24:00` is 86,400, `23:59:60` too.
    pub seconds: i64,
    /// The digits of the fraction of a second.
    pub fraction: &'a [u8],
    /// The seconds by which the clock is ahead of UTC; `None` if the text has no offset.
    pub offset: Option<i64>,
}

/// The numbers of a time of day, and the text after them.
struct Numbers<'a> {
    hour: i64,
    minute: i64,
    /// `None` if it is not written.
    second: Option<i64>,
    rest: &'a [u8],
}

/// Parses a whole text as a time of day with an optional fraction, half of the day and offset.
pub fn clock<'a>(bytes: &'a [u8], forms: &TimeForms) -> Option<Clock<'a>> {
    match with_colons(bytes, forms) {
        Some(Numbers { second: None, .. }) if forms.is_rfc_3339 => None,
        Some(_) if forms.is_rfc_3339 && bytes.get(2) != Some(&b':') => None,
        Some(numbers) => clock_of(numbers, false, forms),
        None if forms.compact == CompactTimes::DatesAndClocks => compact_clock(bytes, forms),
        None if forms.has_hours => clock_of(hour_alone(bytes)?, false, forms),
        None => None,
    }
}

/// Parses a whole text as a time of day without colons, such as `123000.5Z`.
pub(super) fn compact_clock<'a>(bytes: &'a [u8], forms: &TimeForms) -> Option<Clock<'a>> {
    clock_of(without_colons(bytes)?, true, forms)
}

/// The time of day that begins with numbers.
fn clock_of<'a>(numbers: Numbers<'a>, is_compact: bool, forms: &TimeForms) -> Option<Clock<'a>> {
    let Numbers { mut hour, mut minute, mut second, rest } = numbers;
    let (fraction, rest) = match rest {
        [b',', ..] if forms.is_rfc_3339 => return None,
        [b'.' | b',', digits @ ..] if second.is_some() || is_compact => leading_digits(digits)?,
        [b'.' | b',', digits @ ..] if forms.has_postgres_clocks => {
            (hour, minute, second) = (0, hour, Some(minute));
            leading_digits(digits)?
        }
        rest => (b"".as_slice(), rest),
    };
    let (half, rest) = if is_compact || forms.is_rfc_3339 { (None, rest) } else { half_of_day(rest, forms) };
    let hour = match half {
        None => hour,
        Some(from) if (1..=12).contains(&hour) => hour % 12 + from,
        Some(_) => return None,
    };
    let second = second.unwrap_or(0);
    if !is_shown(hour, minute, second, fraction, forms) {
        return None;
    }
    Some(Clock { seconds: hour * 3_600 + minute * 60 + second, fraction, offset: offset(rest, forms)? })
}

/// Parses a whole text as an offset from UTC, with blanks before it. The outer `None` is for another text, the inner
/// one for an empty text.
pub(super) fn offset(bytes: &[u8], forms: &TimeForms) -> Option<Option<i64>> {
    if forms.is_rfc_3339 {
        return match bytes {
            [b'Z' | b'z'] => Some(Some(0)),
            [b'+' | b'-', _, _, b':', _, _] => utc_offset(bytes, &[]).map(Some),
            _ => None,
        };
    }
    if bytes.is_empty() {
        return Some(None);
    }
    utc_offset(without_blanks(bytes, forms), &["Z", "UTC", "GMT"]).map(Some)
}

/// Returns the text after the blanks at its beginning.
pub(super) fn without_blanks<'a>(bytes: &'a [u8], forms: &TimeForms) -> &'a [u8] {
    if forms.has_wide_blanks {
        let blanks = bytes.iter().take_while(|byte| **byte == b' ').count();
        return &bytes[blanks..];
    }
    bytes.strip_prefix(b" ").unwrap_or(bytes)
}

/// `h:mm`, `hh:mm` or `hh:mm:ss`; `h:m:s` if the forms have it.
fn with_colons<'a>(bytes: &'a [u8], forms: &TimeForms) -> Option<Numbers<'a>> {
    let part = |bytes: &'a [u8]| -> Option<(i64, &'a [u8])> {
        let (number, digits) = leading_number(bytes, 2)?;
        (digits == 2 || forms.has_postgres_clocks).then(|| (number, &bytes[digits..]))
    };
    let (hour, hour_digits) = leading_number(bytes, 2)?;
    let (minute, rest) = part(bytes[hour_digits..].strip_prefix(b":")?)?;
    let Some(seconds) = rest.strip_prefix(b":") else { return Some(Numbers { hour, minute, second: None, rest }) };
    let (second, rest) = part(seconds)?;
    Some(Numbers { hour, minute, second: Some(second), rest })
}

/// `hhmm` or `hhmmss`.
fn without_colons(bytes: &[u8]) -> Option<Numbers<'_>> {
    let (hour, rest) = two_digits(bytes)?;
    let (minute, rest) = two_digits(rest)?;
    Some(match two_digits(rest) {
        Some((second, rest)) => Numbers { hour, minute, second: Some(second), rest },
        None => Numbers { hour, minute, second: None, rest },
    })
}

/// `hh`.
fn hour_alone(bytes: &[u8]) -> Option<Numbers<'_>> {
    let (hour, rest) = two_digits(bytes)?;
    Some(Numbers { hour, minute: 0, second: None, rest })
}

/// The digits at the beginning of a text, and the text after them. `None` if there are none.
fn leading_digits(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then(|| bytes.split_at(count))
}

/// The first hour of the half of the day (AM or PM) at the beginning of a text, and the text after it.
fn half_of_day<'a>(bytes: &'a [u8], forms: &TimeForms) -> (Option<i64>, &'a [u8]) {
    let (half, rest) = match without_blanks(bytes, forms) {
        [half, b'm' | b'M', rest @ ..] if !rest.first().is_some_and(u8::is_ascii_alphabetic) => (half, rest),
        _ => return (None, bytes),
    };
    match half {
        b'a' | b'A' => (Some(0), rest),
        b'p' | b'P' => (Some(12), rest),
        _ => (None, bytes),
    }
}

/// Returns whether clocks show these numbers. A minute may have 61 seconds, and a day may end with `24:00`.
fn is_shown(hour: i64, minute: i64, second: i64, fraction: &[u8], forms: &TimeForms) -> bool {
    let is_strict = forms.is_rfc_3339;
    let is_midnight = (hour, minute, second) == (24, 0, 0) && fraction.iter().all(|digit| *digit == b'0');
    let second_max = if is_strict { 59 } else { 60 };
    (hour <= 23 || is_midnight && !is_strict) && minute <= 59 && second <= second_max
}
