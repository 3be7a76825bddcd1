//! The parts of written times that SQL and import have in common: dates that start with the year, and offsets from UTC.
//!
//! The two accept different forms beyond these. SQL reads one strict form and rounds it to the column's unit. Import
//! decides from all values of a column, and accepts other orders, names of months and 12-hour clocks.

use crate::time::{days_from_civil, days_in_month};

/// The accepted forms of a date that starts with the year.
#[derive(Debug, Clone, Copy)]
pub struct DateForm {
    /// The bytes that may separate year, month and day. A date uses the same one twice.
    pub separators: &'static [u8],
    /// The minimum number of digits of month and day, 1 or 2.
    pub digits_min: usize,
}

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

/// Parses the date at the start of a text, such as `2024-03-01`. The year has four digits, or a sign and 4 to 12
/// digits. Returns the days since 1970-01-01 and the length of the date in bytes.
pub fn year_first_date(bytes: &[u8], form: DateForm) -> Option<(i64, usize)> {
    let (sign, start) = match bytes.first()? {
        b'-' => (-1, 1),
        b'+' => (1, 1),
        _ => (1, 0),
    };
    let (year, year_digits) = leading_number(&bytes[start..], if start == 1 { 12 } else { 4 })?;
    let separator_at = start + year_digits;
    let separator = *bytes.get(separator_at)?;
    if year_digits < 4 || !form.separators.contains(&separator) {
        return None;
    }
    let (month, month_digits) = leading_number(&bytes[separator_at + 1..], 2)?;
    let second_at = separator_at + 1 + month_digits;
    if bytes.get(second_at) != Some(&separator) {
        return None;
    }
    let (day, day_digits) = leading_number(&bytes[second_at + 1..], 2)?;
    if month_digits < form.digits_min || day_digits < form.digits_min {
        return None;
    }
    Some((days_of_date(sign * year, month, day)?, second_at + 1 + day_digits))
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

    const STRICT: DateForm = DateForm { separators: b"-/", digits_min: 2 };

    #[test]
    fn dates_that_start_with_the_year() {
        let lenient = DateForm { separators: b"-/.", digits_min: 1 };
        assert_eq!(year_first_date(b"2024-03-01T12:00", STRICT), Some((19_783, 10)));
        assert_eq!(year_first_date(b"2024.3.1", lenient), Some((19_783, 8)));
        assert_eq!(year_first_date(b"+12024/03/01", STRICT).map(|(_, length)| length), Some(12));
        assert_eq!(year_first_date(b"-0001-01-01", STRICT).map(|(days, _)| days), Some(days_from_civil(-1, 1, 1)));
        for bad in ["", "-", "2024", "24-03-01", "2024-3-01", "2024-03/01", "2024.03.01", "2023-02-29", "2024-13-01"] {
            assert_eq!(year_first_date(bad.as_bytes(), STRICT), None, "{bad}");
        }
    }

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
