//! Dates and times that are written as one number: `20240131`, `2024013118`, `202401311830` and `20240131183059`.

use atsdb_core::time::{DAY_SECONDS, days_from_civil, days_in_month};

/// The years that such a number may begin with.
const YEARS: std::ops::RangeInclusive<i64> = 1_900..=2_100;

/// The seconds since the epoch of a date that is written in eight digits, with its hour, minute and second in two
/// digits each, or without them.
pub(crate) fn digit_time(bytes: &[u8]) -> Option<i64> {
    if !matches!(bytes.len(), 8 | 10 | 12 | 14) || !bytes.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = |digits: &[u8]| digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
    let part = |start: usize| bytes.get(start..start + 2).map_or(0, number);
    let (year, month, day) = (number(&bytes[..4]), u32::try_from(part(4)).ok()?, u32::try_from(part(6)).ok()?);
    let (hour, minute, second) = (part(8), part(10), part(12));
    let is_date = YEARS.contains(&year) && (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
    let is_clock = hour < 24 && minute < 60 && second < 60;
    (is_date && is_clock).then(|| days_from_civil(year, month, day) * DAY_SECONDS + hour * 3_600 + minute * 60 + second)
}

/// The form of a number that is such a time.
pub(crate) fn digit_form(number: i64) -> &'static str {
    match number {
        100_000_000_000..=999_999_999_999 => "yyyymmddhhmm",
        1_000_000_000..=9_999_999_999 => "yyyymmddhh",
        10_000_000..=99_999_999 => "yyyymmdd",
        _ => "yyyymmddhhmmss",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_digits_has_a_date_and_may_have_a_clock() {
        let day = 1_706_659_200;
        for (text, seconds) in [
            ("20240131", day),
            ("2024013118", day + 18 * 3_600),
            ("202401311830", day + 18 * 3_600 + 30 * 60),
            ("20240131183059", day + 18 * 3_600 + 30 * 60 + 59),
        ] {
            assert_eq!(digit_time(text.as_bytes()), Some(seconds), "{text}");
        }
        for text in
            ["20240230", "20241301", "2024013124", "1700000000", "202401", "202401311", "2024-01-31", "21010101"]
        {
            assert_eq!(digit_time(text.as_bytes()), None, "{text}");
        }
    }
}
