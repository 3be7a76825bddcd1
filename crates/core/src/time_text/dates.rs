//! Dates at the beginning of a text.

use crate::time::{civil_from_days, first_iso_monday};
use crate::time_text::calendar_words::month_word;
use crate::time_text::forms::{DateOrder, TimeForms};
use crate::time_text::parts::{days_of_date, leading_number, two_digits};

/// The evidence of one date about the order of day and month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderSeen {
    /// None: the year comes first, or the month is a word.
    Fixed,
    /// The first number is above 12.
    DayFirst,
    /// The second number is above 12.
    MonthFirst,
    /// Both orders are possible.
    Either,
}

/// A date at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DateText {
    /// Days since the Unix epoch.
    pub(super) days: i64,
    /// The length of its text.
    pub(super) length: usize,
    /// Whether the text gives only the last two digits of the year.
    pub(super) is_short_year: bool,
    /// The evidence of the text about the order of day and month.
    pub(super) order: OrderSeen,
    /// Whether the text names a month, a quarter or a week, of which this is the first day.
    pub(super) is_period: bool,
}

impl DateText {
    /// Creates a date with a full year and an unambiguous order.
    pub(super) fn of_days(days: i64, length: usize) -> Self {
        Self { days, length, is_short_year: false, order: OrderSeen::Fixed, is_period: false }
    }
}

/// Parses the date at the start of a text, such as `2024-03-01`, with `/` or `.` too. One digit for month or day is
/// enough. The year has four digits, or a sign and 4 to 12 digits. Returns the days since 1970-01-01 and the length of
/// the date in bytes.
#[inline]
pub fn year_first(bytes: &[u8]) -> Option<(i64, usize)> {
    let (sign, start) = match bytes.first()? {
        b'-' => (-1, 1),
        b'+' => (1, 1),
        _ => (1, 0),
    };
    let (year, year_digits) = leading_number(&bytes[start..], if start == 1 { 12 } else { 4 })?;
    let separator_at = start + year_digits;
    let separator = *bytes.get(separator_at)?;
    if year_digits < 4 || !matches!(separator, b'-' | b'/' | b'.') {
        return None;
    }
    let (month, month_digits) = leading_number(&bytes[separator_at + 1..], 2)?;
    let second_at = separator_at + 1 + month_digits;
    if bytes.get(second_at) != Some(&separator) {
        return None;
    }
    let (day, day_digits) = leading_number(&bytes[second_at + 1..], 2)?;
    Some((days_of_date(sign * year, month, day)?, second_at + 1 + day_digits))
}

/// The years of months, quarters and weeks. Other numbers may be anything.
const PERIOD_YEARS: std::ops::RangeInclusive<i64> = 1_900..=2_100;

/// The first day of a month, `2024-01`, of a quarter, `2024-Q1` or `2024Q1`, or of a week of ISO 8601, `2024-W01` or
/// `2024W01`, if that is the whole text.
pub(super) fn period(bytes: &[u8]) -> Option<DateText> {
    let (year, 4) = leading_number(bytes, 4)? else { return None };
    if !PERIOD_YEARS.contains(&year) {
        return None;
    }
    let days = match &bytes[4..] {
        [b'-', b'Q', quarter @ b'1'..=b'4'] | [b'Q', quarter @ b'1'..=b'4'] => {
            days_of_date(year, i64::from(quarter - b'0') * 3 - 2, 1)
        }
        [b'-', b'W', week @ ..] | [b'W', week @ ..] => first_day_of_week(year, two_digits(week)?),
        [b'-', month @ ..] => match two_digits(month)? {
            (month, []) => days_of_date(year, month, 1),
            _ => None,
        },
        _ => None,
    }?;
    Some(DateText { is_period: true, ..DateText::of_days(days, bytes.len()) })
}

/// The Monday of a week of ISO 8601.
fn first_day_of_week(year: i64, (week, rest): (i64, &[u8])) -> Option<i64> {
    let monday = first_iso_monday(year) + (week - 1) * 7;
    let (year_of_thursday, ..) = civil_from_days(monday + 3);
    (rest.is_empty() && week >= 1 && year_of_thursday == year).then_some(monday)
}

/// `yyyymmdd`: the date and the text after it.
pub(super) fn without_separators(bytes: &[u8]) -> Option<(DateText, &[u8])> {
    let (century, rest) = two_digits(bytes)?;
    let (year, rest) = two_digits(rest)?;
    let (month, rest) = two_digits(rest)?;
    let (day, rest) = two_digits(rest)?;
    let days = days_of_date(century * 100 + year, month, day)?;
    Some((DateText::of_days(days, bytes.len() - rest.len()), rest))
}

/// The year that is written with its last two digits: in the twentieth century from 70 on, smaller ones in the
/// twenty-first.
pub fn full_year(short: i64) -> i64 {
    if short < 70 { 2_000 + short } else { 1_900 + short }
}

/// `dd/mm/yyyy`, `mm/dd/yyyy`, with `-` or `.` too (with points the day is first), and `dd-Mon-yyyy`. The year may have
/// two digits behind `/` or a month's name; behind a point only if a time of day follows, an order is given, or all
/// three numbers have two digits, because versions look like that. Three such numbers alone do not show which is the
/// day.
pub(super) fn year_last(bytes: &[u8], forms: &TimeForms) -> Option<DateText> {
    let order = forms.other_dates?.order;
    let (first, first_digits) = leading_number(bytes, 2)?;
    let separator = *bytes.get(first_digits)?;
    if !matches!(separator, b'-' | b'/' | b'.' | b' ') {
        return None;
    }
    let rest = &bytes[first_digits + 1..];
    let (second, second_length, is_word) = match month_word(rest) {
        Some((month, length)) => (month, length, true),
        None if separator == b' ' => return None,
        None => {
            let (second, digits) = leading_number(rest, 2)?;
            (second, digits, false)
        }
    };
    let year_at = first_digits + 1 + second_length + 1;
    if bytes.get(year_at - 1) != Some(&separator) {
        return None;
    }
    let (year, year_digits) = leading_number(bytes.get(year_at..)?, 4)?;
    let length = year_at + year_digits;
    let next = bytes.get(length);
    let is_short = year_digits == 2;
    let is_even = first_digits == 2 && second_length == 2;
    let is_dated = next.is_some() || order.is_some();
    let is_short_allowed = is_word || separator == b'/' || (separator == b'.' && (is_dated || is_even));
    if !(year_digits == 4 || (is_short && is_short_allowed)) || next.is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let year = if is_short { full_year(year) } else { year };
    if is_word || separator == b'.' {
        let date = DateText::of_days(days_of_date(year, second, first)?, length);
        let is_unclear = is_short && !is_word && !is_dated;
        let order = if is_unclear { OrderSeen::Either } else { OrderSeen::Fixed };
        return Some(DateText { is_short_year: is_short, order, ..date });
    }
    let seen = match (first > 12, second > 12) {
        (true, true) => return None,
        (true, false) => OrderSeen::DayFirst,
        (false, true) => OrderSeen::MonthFirst,
        (false, false) => OrderSeen::Either,
    };
    let order = order.unwrap_or(match seen {
        OrderSeen::MonthFirst => DateOrder::MonthFirst,
        _ => DateOrder::DayFirst,
    });
    let days = match order {
        DateOrder::DayFirst => days_of_date(year, second, first)?,
        DateOrder::MonthFirst => days_of_date(year, first, second)?,
    };
    Some(DateText { days, length, is_short_year: is_short, order: seen, is_period: false })
}

/// `Mon dd yyyy`, with a comma after the day or not.
pub(super) fn month_word_first(bytes: &[u8]) -> Option<DateText> {
    let (month, month_length) = month_word(bytes)?;
    let rest = bytes.get(month_length..)?.strip_prefix(b" ")?;
    let (day, day_digits) = leading_number(rest, 2)?;
    let rest = &rest[day_digits..];
    let rest = rest.strip_prefix(b",").unwrap_or(rest).strip_prefix(b" ")?;
    let (year, 4) = leading_number(rest, 4)? else { return None };
    Some(DateText::of_days(days_of_date(year, month, day)?, bytes.len() - rest.len() + 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::days_from_civil;

    #[test]
    fn dates_that_start_with_the_year() {
        assert_eq!(year_first(b"2024-03-01T12:00"), Some((19_783, 10)));
        assert_eq!(year_first(b"2024.3.1"), Some((19_783, 8)));
        assert_eq!(year_first(b"+12024/03/01").map(|(_, length)| length), Some(12));
        assert_eq!(year_first(b"-0001-01-01").map(|(days, _)| days), Some(days_from_civil(-1, 1, 1)));
        for bad in ["", "-", "2024", "24-03-01", "2024-03/01", "2023-02-29", "2024-13-01", "2024--1"] {
            assert_eq!(year_first(bad.as_bytes()), None, "{bad}");
        }
    }
}
