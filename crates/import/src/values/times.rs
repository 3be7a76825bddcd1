//! Times as text: ISO 8601 and the ways in which files depart from it. UTC where no zone is written.

use crate::values::calendar_words::{month_word, weekday_length};
use crate::values::clocks::{Clock, clock, fraction_of, zone};
use crate::values::dates::{DateOrder, DateReading};
use atsdb_core::TimeUnit;
use atsdb_core::time::{DAY_SECONDS, civil_from_days};
use atsdb_core::time_text::{DateForm, days_of_date, leading_number, year_first_date};

/// Dates that start with the year: one digit for month or day is enough.
const YEAR_FIRST: DateForm = DateForm { separators: b"-/.", digits_min: 1 };

/// Years of two digits from here on are of the twentieth century, smaller ones of the twenty-first.
const SHORT_YEAR_PIVOT: i64 = 70;

/// A time read from text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeText {
    /// Seconds since the Unix epoch.
    pub(crate) seconds: i64,
    /// Nanoseconds after that.
    pub(crate) nanoseconds: u32,
    /// The number of fractional digits that are needed to write it.
    pub(crate) fraction_digits: u8,
    /// Whether there was no time of day.
    pub(crate) is_date: bool,
    /// Whether a zone was written.
    pub(crate) is_zoned: bool,
    /// Whether the year was written with two digits.
    pub(crate) is_short_year: bool,
    /// The evidence of the text about the order of day and month.
    pub(crate) order: OrderSeen,
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

impl TimeText {
    /// The time as a count of a unit. `None` if it is more precise than the unit or out of range.
    pub(crate) fn count(&self, unit: TimeUnit) -> Option<i64> {
        count(self.seconds, self.nanoseconds, unit)
    }

    /// Days since the epoch, for a date or a midnight.
    pub(crate) fn days(&self) -> Option<i32> {
        let midnight = self.nanoseconds == 0 && self.seconds.rem_euclid(DAY_SECONDS) == 0;
        i32::try_from(self.seconds.div_euclid(DAY_SECONDS)).ok().filter(|_| midnight)
    }
}

/// Seconds and nanoseconds as a count of a unit; `None` when they are finer or farther than that.
#[inline]
pub(crate) fn count(seconds: i64, nanoseconds: u32, unit: TimeUnit) -> Option<i64> {
    let per_second = unit.per_second();
    let step = 1_000_000_000 / per_second as u32;
    if !nanoseconds.is_multiple_of(step) {
        return None;
    }
    let count = i128::from(seconds) * i128::from(per_second) + i128::from(nanoseconds / step);
    i64::try_from(count).ok()
}

/// Remembers the last date, as neighbouring rows mostly share theirs.
#[derive(Debug, Default)]
pub(crate) struct DateMemory {
    text: [u8; 10],
    midnight: i64,
}

/// The usual form, `yyyy-mm-dd hh:mm:ss` with `T` or blank, a fraction, `Z`: seconds and nanoseconds.
#[inline]
pub(crate) fn usual_form(bytes: &[u8], memory: &mut DateMemory) -> Option<(i64, u32)> {
    let (head, tail) = bytes.split_first_chunk::<19>()?;
    if !matches!(head[10], b' ' | b'T') || head[13] != b':' || head[16] != b':' {
        return None;
    }
    if head[..10] != memory.text {
        let (days, 10) = year_first_date(&head[..10], YEAR_FIRST)? else { return None };
        memory.text.copy_from_slice(&head[..10]);
        memory.midnight = days * DAY_SECONDS;
    }
    let (hour, minute, second) = (pair(head[11], head[12])?, pair(head[14], head[15])?, pair(head[17], head[18])?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = memory.midnight + i64::from(hour * 3_600 + minute * 60 + second);
    match tail {
        [] | [b'Z'] => Some((seconds, 0)),
        [b'.', rest @ ..] => {
            let digits = rest.strip_suffix(b"Z").unwrap_or(rest);
            if digits.is_empty() || digits.len() > 9 {
                return None;
            }
            let mut nanoseconds = 0;
            for position in 0..9 {
                let digit = digits.get(position).map_or(0, |byte| byte.wrapping_sub(b'0'));
                if digit > 9 {
                    return None;
                }
                nanoseconds = nanoseconds * 10 + u32::from(digit);
            }
            Some((seconds, nanoseconds))
        }
        _ => None,
    }
}

#[inline]
fn pair(tens: u8, ones: u8) -> Option<u32> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens <= 9 && ones <= 9).then_some(u32::from(tens) * 10 + u32::from(ones))
}

/// A date and, if there is one, the time of day, in any known form.
pub(crate) fn parse(bytes: &[u8], reading: DateReading) -> Option<TimeText> {
    // This excludes most texts that are not times: the shortest time is `1/1/24`, and every date starts with a digit, a
    // sign or a month's letter.
    if bytes.len() < 6 || bytes.len() > 64 {
        return None;
    }
    match bytes {
        // Web servers write `[10/Oct/2000:13:55:36 -0700]`.
        [b'[', inside @ .., b']'] if inside.first().is_some_and(u8::is_ascii_digit) => year_last(inside, reading.order),
        [b'0'..=b'9' | b'+' | b'-', ..] => match year_first_date(bytes, YEAR_FIRST) {
            Some((days, length)) => with_clock(bytes, days, length, OrderSeen::Fixed, false),
            None => basic_form(bytes).or_else(|| year_last(bytes, reading.order)),
        },
        [letter, ..] if letter.is_ascii_alphabetic() => {
            let bytes = &bytes[weekday_length(bytes)..];
            if bytes.first().is_some_and(u8::is_ascii_digit) {
                return year_last(bytes, reading.order);
            }
            match month_word_first(bytes) {
                Some((days, length)) => with_clock(bytes, days, length, OrderSeen::Fixed, false),
                None => clock_before_year(bytes, reading.until),
            }
        }
        _ => None,
    }
}

/// `20240101T093000Z`, the form of ISO 8601 without separators. Without a time of day it is a number.
fn basic_form(bytes: &[u8]) -> Option<TimeText> {
    let (date, rest) = bytes.split_first_chunk::<8>()?;
    let ((year, 4), (month, 2), (day, 2)) =
        (leading_number(date, 4)?, leading_number(&date[4..], 2)?, leading_number(&date[6..], 2)?)
    else {
        return None;
    };
    let digits = rest.strip_prefix(b"T")?;
    let (hour, 2) = leading_number(digits, 2)? else { return None };
    let (minute, 2) = leading_number(&digits[2..], 2)? else { return None };
    let (second, rest) = match leading_number(&digits[4..], 2) {
        Some((second, 2)) => (second, &digits[6..]),
        _ => (0, &digits[4..]),
    };
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (nanoseconds, fraction_digits, rest) = match rest {
        [b'.' | b',', fraction @ ..] => fraction_of(fraction)?,
        rest => (0, 0, rest),
    };
    let (offset, is_zoned) = zone(rest)?;
    let seconds = hour * 3_600 + minute * 60 + second - offset;
    stamp(days_of_date(year, month, day)?, Clock { seconds, nanoseconds, fraction_digits, is_zoned })
}

/// `Nov 23 04:10:50 UTC 2026` as `date` prints it, with a zone or without, and `Nov 23 04:10:50` as logs have it.
fn clock_before_year(bytes: &[u8], until: Option<i64>) -> Option<TimeText> {
    /// The smallest number of years in which every date occurs.
    const YEARS: i64 = 9;
    let (month, month_length) = month_word(bytes)?;
    let rest = bytes.get(month_length..)?.strip_prefix(b" ")?;
    // Days of one digit are padded.
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let (day, day_digits) = leading_number(rest, 2)?;
    let rest = rest[day_digits..].strip_prefix(b" ")?;
    let mut words = rest.split(|byte| *byte == b' ');
    let mut time = clock(words.next()?)?;
    let (zone_word, year_word) = match (words.next(), words.next(), words.next()) {
        (None, ..) => (None, None),
        (Some(year), None, _) => (None, Some(year)),
        (Some(zone), Some(year), None) => (Some(zone), Some(year)),
        _ => return None,
    };
    if let Some(word) = zone_word {
        let (offset, true) = zone(word)? else { return None };
        (time.seconds, time.is_zoned) = (time.seconds - offset, true);
    }
    match year_word {
        Some(word) => match leading_number(word, 4)? {
            (year, 4) if word.len() == 4 => stamp(days_of_date(year, month, day)?, time),
            _ => None,
        },
        None => {
            let until = until?;
            let (year, ..) = civil_from_days(until.div_euclid(DAY_SECONDS));
            let in_year = |year: i64| stamp(days_of_date(year, month, day)?, time);
            // Other clocks and zones may be ahead by a day.
            let is_past = |time: &TimeText| time.seconds <= until.saturating_add(DAY_SECONDS);
            (year - YEARS..=year + 1).rev().filter_map(in_year).find(is_past)
        }
    }
}

/// The time of a day and a time of day.
fn stamp(days: i64, clock: Clock) -> Option<TimeText> {
    Some(TimeText {
        seconds: days.checked_mul(DAY_SECONDS)?.checked_add(clock.seconds)?,
        nanoseconds: clock.nanoseconds,
        fraction_digits: clock.fraction_digits,
        is_date: false,
        is_zoned: clock.is_zoned,
        is_short_year: false,
        order: OrderSeen::Fixed,
    })
}

/// The time in a text that begins with a date of this many bytes.
fn with_clock(bytes: &[u8], days: i64, length: usize, order: OrderSeen, is_short_year: bool) -> Option<TimeText> {
    let midnight = days.checked_mul(DAY_SECONDS)?;
    let date = TimeText {
        seconds: midnight,
        nanoseconds: 0,
        fraction_digits: 0,
        is_date: true,
        is_zoned: false,
        is_short_year,
        order,
    };
    let rest = &bytes[length..];
    match rest {
        [] => Some(date),
        [b'Z'] => Some(TimeText { is_zoned: true, ..date }),
        [b'T' | b't' | b' ' | b':', rest @ ..] => {
            let clock = clock(rest)?;
            Some(TimeText {
                seconds: midnight.checked_add(clock.seconds)?,
                nanoseconds: clock.nanoseconds,
                fraction_digits: clock.fraction_digits,
                is_date: false,
                is_zoned: clock.is_zoned,
                is_short_year,
                order,
            })
        }
        _ => None,
    }
}

/// `dd/mm/yyyy`, `mm/dd/yyyy`, with `-` or `.` too (with points the day is first), and `dd-Mon-yyyy`. The year may have
/// two digits behind `/` or a month's name; behind a point only if a time of day follows or `order` is given, because
/// versions look like that.
fn year_last(bytes: &[u8], order: Option<DateOrder>) -> Option<TimeText> {
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
    let year = match is_short {
        true if year < SHORT_YEAR_PIVOT => 2_000 + year,
        true => 1_900 + year,
        false => year,
    };
    if is_word || separator == b'.' {
        return with_clock(bytes, days_of_date(year, second, first)?, length, OrderSeen::Fixed, is_short);
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
    with_clock(bytes, days, length, seen, is_short)
}

/// `Mon dd yyyy`, with a comma after the day or not.
fn month_word_first(bytes: &[u8]) -> Option<(i64, usize)> {
    let (month, month_length) = month_word(bytes)?;
    let rest = bytes.get(month_length..)?.strip_prefix(b" ")?;
    let (day, day_digits) = leading_number(rest, 2)?;
    let rest = &rest[day_digits..];
    let rest = rest.strip_prefix(b",").unwrap_or(rest).strip_prefix(b" ")?;
    let (year, 4) = leading_number(rest, 4)? else { return None };
    Some((days_of_date(year, month, day)?, bytes.len() - rest.len() + 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::time::format_time;

    const READING: DateReading = DateReading { order: None, until: None };

    fn text_of(text: &str) -> Option<String> {
        let time = parse(text.as_bytes(), READING)?;
        if let Some((seconds, nanoseconds)) = usual_form(text.as_bytes(), &mut DateMemory::default()) {
            assert_eq!((seconds, nanoseconds), (time.seconds, time.nanoseconds), "{text}");
        }
        Some(format_time(time.count(TimeUnit::Nanosecond)?, TimeUnit::Nanosecond).replace(".000000000", ""))
    }

    #[test]
    fn times_are_read_in_all_their_forms() {
        for (text, meant) in [
            ("2016-10-14 21:17:05", "2016-10-14T21:17:05Z"),
            ("2016-10-14T21:17:05Z", "2016-10-14T21:17:05Z"),
            ("2016-10-14T21:17", "2016-10-14T21:17:00Z"),
            ("2016/10/14 21:17", "2016-10-14T21:17:00Z"),
            ("2016-10-14", "2016-10-14T00:00:00Z"),
            ("14/10/2016 21:17", "2016-10-14T21:17:00Z"),
            ("10/14/2016 9:17:00 PM", "2016-10-14T21:17:00Z"),
            ("14.10.2016 21:17", "2016-10-14T21:17:00Z"),
            ("05.10.2016", "2016-10-05T00:00:00Z"),
            ("14/10/16 21:17", "2016-10-14T21:17:00Z"),
            ("10/14/69", "2069-10-14T00:00:00Z"),
            ("5/10/70", "1970-10-05T00:00:00Z"),
            ("05.10.16 21:17", "2016-10-05T21:17:00Z"),
            ("14-Oct-16", "2016-10-14T00:00:00Z"),
            ("14-Oct-2016 21:17:05", "2016-10-14T21:17:05Z"),
            ("14 October 2016", "2016-10-14T00:00:00Z"),
            ("Oct 14, 2016 21:17", "2016-10-14T21:17:00Z"),
            ("2025-08-31T21:00:00-04:00", "2025-09-01T01:00:00Z"),
            ("2025-08-31 21:00:00+0530", "2025-08-31T15:30:00Z"),
            ("2025-08-31 21:00:00 UTC", "2025-08-31T21:00:00Z"),
            ("2016-12-31 24:00", "2017-01-01T00:00:00Z"),
            ("2016-10-14 21:17:05.1234567", "2016-10-14T21:17:05.123456700Z"),
            ("2016-10-14T21:17:05,5Z", "2016-10-14T21:17:05.500000000Z"),
            ("1969-12-31T23:59:59.999", "1969-12-31T23:59:59.999000000Z"),
        ] {
            assert_eq!(text_of(text).as_deref(), Some(meant), "{text}");
        }
    }

    #[test]
    fn times_of_logs_are_read() {
        for (text, meant) in [
            ("[10/Oct/2000:13:55:36 -0700]", "2000-10-10T20:55:36Z"),
            ("10/Oct/2000:13:55:36 -0700", "2000-10-10T20:55:36Z"),
            ("Mon, 23 Nov 2026 04:10:50 GMT", "2026-11-23T04:10:50Z"),
            ("Monday, 23 Nov 2026 04:10:50 +0100", "2026-11-23T03:10:50Z"),
            ("Mon Nov 23 04:10:50 UTC 2026", "2026-11-23T04:10:50Z"),
            ("Mon Nov  2 04:10:50 2026", "2026-11-02T04:10:50Z"),
            ("Nov 23 04:10:50 UTC 2026", "2026-11-23T04:10:50Z"),
            ("20240101T000000Z", "2024-01-01T00:00:00Z"),
            ("20240101T0930+0100", "2024-01-01T08:30:00Z"),
            ("20240101T000000.5", "2024-01-01T00:00:00.500000000Z"),
        ] {
            assert_eq!(text_of(text).as_deref(), Some(meant), "{text}");
        }
    }

    #[test]
    fn a_time_without_a_year_is_the_last_one_before_another_time() {
        let of = |text: &str, until: &str| {
            let until = parse(until.as_bytes(), READING).unwrap().seconds;
            let time = parse(text.as_bytes(), DateReading { until: Some(until), ..READING })?;
            Some(format_time(time.seconds, TimeUnit::Second))
        };
        assert_eq!(of("Nov 23 04:10:50", "2026-11-23 05:00:00").as_deref(), Some("2026-11-23T04:10:50Z"));
        assert_eq!(of("Nov 24 04:10:50", "2026-11-23 05:00:00").as_deref(), Some("2026-11-24T04:10:50Z"));
        assert_eq!(of("Nov 25 04:10:50", "2026-11-23 05:00:00").as_deref(), Some("2025-11-25T04:10:50Z"));
        assert_eq!(of("Jan  1 00:00:01", "2026-12-31 23:59:59").as_deref(), Some("2027-01-01T00:00:01Z"));
        assert_eq!(of("Feb 29 12:00:00", "2026-11-23 05:00:00").as_deref(), Some("2024-02-29T12:00:00Z"));
        assert_eq!(of("Feb 30 12:00:00", "2026-11-23 05:00:00"), None);
        assert_eq!(parse(b"Nov 23 04:10:50", READING), None);
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "2016",
            "20161014",
            "2016-13-01",
            "2016-02-30",
            "2016-10-14x",
            "2016-10-14 25:00",
            "13/13/2016",
            "1-2-16",
            "10.15.07",
            "1/2/165",
            "2016-10-14 21:17:05.",
            "2016-10-14 21:60",
            "192.168.10.2016",
            "1.2.3.4",
            "12:30:00",
            "may be 1",
            "1-2-20163",
            "[note 7]",
            "Mon 5 apples",
            "Mon Nov 23 04:10:50 CETX 2026",
            "20241301T000000Z",
            "20240101T",
        ] {
            assert_eq!(parse(text.as_bytes(), READING), None, "{text}");
            assert_eq!(usual_form(text.as_bytes(), &mut DateMemory::default()), None, "{text}");
        }
    }

    #[test]
    fn the_order_of_day_and_month_is_seen_or_given() {
        let seen = |text: &str| parse(text.as_bytes(), READING).unwrap().order;
        assert_eq!(seen("13/01/2016"), OrderSeen::DayFirst);
        assert_eq!(seen("01/13/2016"), OrderSeen::MonthFirst);
        assert_eq!(seen("01/02/2016"), OrderSeen::Either);
        assert_eq!(seen("01.02.2016"), OrderSeen::Fixed);
        assert_eq!(parse(b"13/01/2016", DateReading { order: Some(DateOrder::MonthFirst), ..READING }), None);
    }

    #[test]
    fn far_years_come_back() {
        for time in [i64::MIN, -62_135_596_800_000_001, i64::MAX] {
            let text = format_time(time, TimeUnit::Microsecond);
            assert_eq!(parse(text.as_bytes(), READING).unwrap().count(TimeUnit::Microsecond), Some(time), "{text}");
        }
    }
}
