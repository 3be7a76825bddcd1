//! Dates as text, at the beginning of a time.

use crate::values::calendar_words::month_word;
use atsdb_core::time_text::{DateForm, days_of_date, leading_number, year_first_date};

/// The order of day and month in dates such as `03/04/2024`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    /// The day first: the 3rd of April.
    DayFirst,
    /// The month first: the 4th of March.
    MonthFirst,
}

/// How dates are read that do not say it themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DateReading {
    /// How `a/b/yyyy` is read. Without it, a number above 12 decides, and if neither is above 12, the day comes first.
    pub(crate) order: Option<DateOrder>,
    /// A time without a year is the last one before this one, in seconds since the epoch. Without it there are none.
    pub(crate) until: Option<i64>,
}

/// The evidence of one date about the order of day and month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrderSeen {
    /// None: the year comes first, or the month is a word.
    Fixed,
    /// The first number is above 12.
    DayFirst,
    /// The second number is above 12.
    MonthFirst,
    /// Both are possible.
    Either,
}

/// A date at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DateText {
    /// Days since the Unix epoch.
    pub(crate) days: i64,
    /// The length of its text.
    pub(crate) length: usize,
    /// Whether the year was written with two digits.
    pub(crate) is_short_year: bool,
    /// The evidence of the text about the order of day and month.
    pub(crate) order: OrderSeen,
}

impl DateText {
    /// A date with a whole year, and one meaning.
    pub(crate) fn of_days(days: i64, length: usize) -> Self {
        Self { days, length, is_short_year: false, order: OrderSeen::Fixed }
    }
}

/// `yyyy-mm-dd`, with `/` or `.` too. One digit for month or day is enough.
#[inline]
pub(crate) fn year_first(bytes: &[u8]) -> Option<DateText> {
    let (days, length) = year_first_date(bytes, DateForm { separators: b"-/.", digits_min: 1 })?;
    Some(DateText::of_days(days, length))
}

/// Years of two digits from here on are of the twentieth century, smaller ones of the twenty-first.
const SHORT_YEAR_PIVOT: i64 = 70;

/// `dd/mm/yyyy`, `mm/dd/yyyy`, with `-` or `.` too (with points the day is first), and `dd-Mon-yyyy`. The year may have
/// two digits behind `/` or a month's name; behind a point only if a time of day follows or `order` is given, because
/// versions look like that.
pub(crate) fn year_last(bytes: &[u8], order: Option<DateOrder>) -> Option<DateText> {
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
    let is_short_allowed = is_word || separator == b'/' || (separator == b'.' && (next.is_some() || order.is_some()));
    if !(year_digits == 4 || (is_short && is_short_allowed)) || next.is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let century = if year < SHORT_YEAR_PIVOT { 2_000 } else { 1_900 };
    let year = if is_short { century + year } else { year };
    if is_word || separator == b'.' {
        let date = DateText::of_days(days_of_date(year, second, first)?, length);
        return Some(DateText { is_short_year: is_short, ..date });
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
    Some(DateText { days, length, is_short_year: is_short, order: seen })
}

/// `Mon dd yyyy`, with a comma after the day or not.
pub(crate) fn month_word_first(bytes: &[u8]) -> Option<DateText> {
    let (month, month_length) = month_word(bytes)?;
    let rest = bytes.get(month_length..)?.strip_prefix(b" ")?;
    let (day, day_digits) = leading_number(rest, 2)?;
    let rest = &rest[day_digits..];
    let rest = rest.strip_prefix(b",").unwrap_or(rest).strip_prefix(b" ")?;
    let (year, 4) = leading_number(rest, 4)? else { return None };
    Some(DateText::of_days(days_of_date(year, month, day)?, bytes.len() - rest.len() + 4))
}
