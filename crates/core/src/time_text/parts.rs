//! Numbers, days and offsets, of which dates and times are made.

use crate::time::{days_from_civil, days_in_month};

/// Returns the days since 1970-01-01 of a date, or `None` if it does not exist.
#[inline]
pub fn days_of_date(year: i64, month: i64, day: i64) -> Option<i64> {
    let (month, day) = (u32::try_from(month).ok()?, u32::try_from(day).ok()?);
    let exists = (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
    exists.then(|| days_from_civil(year, month, day))
}

/// Parses the number of up to `digits_max` digits at the start of a text. Returns the number and the number of its
/// digits, or `None` if there is no digit. `digits_max` is at most 18.
#[inline]
pub fn leading_number(bytes: &[u8], digits_max: usize) -> Option<(i64, usize)> {
    let count = bytes.iter().take(digits_max).take_while(|byte| byte.is_ascii_digit()).count();
    let value = bytes[..count].iter().fold(0, |value, byte| value * 10 + i64::from(byte - b'0'));
    (count > 0).then_some((value, count))
}

/// The two-digit number at the start of a text, and the text after it.
#[inline]
pub(super) fn two_digits(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (value, 2) = leading_number(bytes, 2)? else { return None };
    Some((value, &bytes[2..]))
}

/// Parses a whole text as an offset from UTC: one of the names of UTC in either case, `+hh`, `+hhmm`, `+hh:mm`, or the
/// same with `-`. Returns how many seconds the clock is ahead of UTC.
pub fn utc_offset(bytes: &[u8], names: &[&str]) -> Option<i64> {
    if names.iter().any(|name| bytes.eq_ignore_ascii_case(name.as_bytes())) {
        return Some(0);
    }
    let (sign, digits) = match bytes {
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits {
        [h1, h2] => ([h1, h2], [&b'0', &b'0']),
        [h1, h2, m1, m2] | [h1, h2, b':', m1, m2] => ([h1, h2], [m1, m2]),
        _ => return None,
    };
    let number = |[tens, ones]: [&u8; 2]| {
        let is_number = tens.is_ascii_digit() && ones.is_ascii_digit();
        is_number.then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours <= 18 && minutes <= 59).then_some(sign * (hours * 3_600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_from_utc() {
        for (text, seconds) in [("Z", 0), ("utc", 0), ("+02", 7_200), ("-0530", -19_800), ("+18:59", 68_340)] {
            assert_eq!(utc_offset(text.as_bytes(), &["Z", "UTC"]), Some(seconds), "{text}");
        }
        for bad in ["", "GMT", "+", "+2", "+02:", "+19", "+02:60", "02", "+02:5", "+02-30"] {
            assert_eq!(utc_offset(bad.as_bytes(), &["Z", "UTC"]), None, "{bad}");
        }
    }
}
