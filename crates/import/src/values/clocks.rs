//! Times of day as text.

use crate::values::numbers::significant_digits;
use atsdb_core::time_text::{leading_number, utc_offset};

/// A time of day, as seconds after midnight UTC (the offset is taken off, so that it may leave the day).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clock {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: u32,
    pub(crate) fraction_digits: u8,
    pub(crate) is_zoned: bool,
}

/// Whether a text is a time of day.
pub(crate) fn is_clock(bytes: &[u8]) -> bool {
    bytes.len() < 32 && bytes.first().is_some_and(u8::is_ascii_digit) && clock(bytes).is_some()
}

/// Reads a time of day with an optional fraction, half of the day and zone.
pub(crate) fn clock(bytes: &[u8]) -> Option<Clock> {
    let (mut hour, hour_digits) = leading_number(bytes, 2)?;
    let rest = bytes[hour_digits..].strip_prefix(b":")?;
    let (minute, 2) = leading_number(rest, 2)? else { return None };
    let mut rest = &rest[2..];
    let (mut second, mut nanoseconds, mut fraction_digits) = (0, 0, 0);
    if let Some(seconds) = rest.strip_prefix(b":") {
        let (value, 2) = leading_number(seconds, 2)? else { return None };
        (second, rest) = (value, &seconds[2..]);
        if let [b'.' | b',', fraction @ ..] = rest {
            (nanoseconds, fraction_digits, rest) = fraction_of(fraction)?;
        }
    }
    let unspaced = rest.strip_prefix(b" ").unwrap_or(rest);
    if let Some((half, after)) = unspaced.split_at_checked(2) {
        let is_afternoon = half.eq_ignore_ascii_case(b"pm");
        if is_afternoon || half.eq_ignore_ascii_case(b"am") {
            if !(1..=12).contains(&hour) {
                return None;
            }
            hour = hour % 12 + if is_afternoon { 12 } else { 0 };
            rest = after;
        }
    }
    let ends_day = hour == 24 && minute == 0 && second == 0 && nanoseconds == 0;
    if (hour > 23 && !ends_day) || minute > 59 || second > 60 {
        return None;
    }
    let (offset, is_zoned) = zone(rest)?;
    Some(Clock { seconds: hour * 3_600 + minute * 60 + second - offset, nanoseconds, fraction_digits, is_zoned })
}

/// Reads the fraction of a second. Returns the nanoseconds, the number of significant digits, and the rest of the text.
/// Digits after the ninth must be zeros.
pub(crate) fn fraction_of(bytes: &[u8]) -> Option<(u32, u8, &[u8])> {
    let length = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = bytes.split_at(length);
    let significant = significant_digits(digits);
    if length == 0 || significant > 9 {
        return None;
    }
    let nanoseconds =
        (0..9).fold(0, |value, position| value * 10 + digits.get(position).map_or(0, |byte| u32::from(byte - b'0')));
    Some((nanoseconds, significant as u8, rest))
}

/// The offset from UTC in seconds, and whether one is written.
pub(crate) fn zone(bytes: &[u8]) -> Option<(i64, bool)> {
    if bytes.is_empty() {
        return Some((0, false));
    }
    let bytes = bytes.strip_prefix(b" ").unwrap_or(bytes);
    utc_offset(bytes, &["Z", "UTC", "GMT"]).map(|offset| (offset, true))
}
