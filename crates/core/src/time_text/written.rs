//! Dates with or without a time of day, in any accepted form.

use crate::time::{DAY_SECONDS, TimeUnit, civil_from_days};
use crate::time_text::calendar_words::{month_word, weekday_length};
use crate::time_text::clocks::{Clock, clock, compact_clock, offset, without_blanks};
use crate::time_text::dates::{
    DateText, OrderSeen, month_word_first, period, without_separators, year_first, year_last,
};
use crate::time_text::forms::{CompactTimes, TimeForms};
use crate::time_text::parts::{days_of_date, leading_number};

/// A time in the parts that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenTime<'a> {
    /// The days from the epoch to the date that is written.
    pub days: i64,
    /// The time of day, if there is one.
    pub clock: Option<Clock<'a>>,
    /// Whether an offset from UTC is written: with the time of day, or as `Z` behind a date.
    pub has_offset: bool,
    /// Whether the text gives only the last two digits of the year.
    pub is_short_year: bool,
    /// The evidence of the text about the order of day and month.
    pub order: OrderSeen,
    /// Whether the text names a month, a quarter or a week, which stands for its first day.
    pub is_period: bool,
}

/// The fraction of a unit that was rounded down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundedFraction {
    /// The unit counts the time exactly.
    Nothing,
    /// Less than half of the unit.
    LessThanHalf,
    /// Half of the unit or more.
    HalfOrMore,
}

impl<'a> WrittenTime<'a> {
    fn of(date: &DateText, clock: Option<Clock<'a>>) -> Self {
        Self {
            days: date.days,
            clock,
            has_offset: clock.is_some_and(|clock| clock.offset.is_some()),
            is_short_year: date.is_short_year,
            order: date.order,
            is_period: date.is_period,
        }
    }

    /// Whole seconds since the Unix epoch. Without an offset the time is in UTC.
    pub fn seconds(&self) -> i128 {
        let clock = self.clock.map_or(0, |clock| clock.seconds - clock.offset.unwrap_or(0));
        i128::from(self.days) * i128::from(DAY_SECONDS) + i128::from(clock)
    }

    /// The digits of the fraction of a second.
    pub fn fraction(&self) -> &'a [u8] {
        self.clock.map_or(b"".as_slice(), |clock| clock.fraction)
    }

    /// The time as a count of a unit since the Unix epoch, rounded down, and what is left of it.
    pub fn count(&self, unit: TimeUnit) -> (i128, RoundedFraction) {
        let (digits, kept) = (self.fraction(), unit.fraction_digits());
        let digit = |position: usize| digits.get(position).map_or(0, |digit| i128::from(digit - b'0'));
        let rest = match digits.get(kept) {
            Some(b'5'..) => RoundedFraction::HalfOrMore,
            Some(_) if digits[kept..].iter().any(|digit| *digit != b'0') => RoundedFraction::LessThanHalf,
            _ => RoundedFraction::Nothing,
        };
        let fraction = (0..kept).fold(0, |value, position| value * 10 + digit(position));
        (self.seconds() * i128::from(unit.per_second()) + fraction, rest)
    }

    /// The count of a unit since the Unix epoch that is nearest to the time.
    pub fn nearest(&self, unit: TimeUnit) -> i128 {
        let (count, rest) = self.count(unit);
        count + i128::from(rest == RoundedFraction::HalfOrMore)
    }
}

/// Parses a whole text, without blanks around it, as a date and, if there is one, the time of day.
pub fn parse_time<'a>(bytes: &'a [u8], forms: &TimeForms) -> Option<WrittenTime<'a>> {
    let has_words = forms.other_dates.is_some();
    match bytes {
        // Web servers write `[10/Oct/2000:13:55:36 -0700]`.
        [b'[', inside @ .., b']'] if has_words && inside.first().is_some_and(u8::is_ascii_digit) => {
            with_clock(inside, &year_last(inside, forms)?, forms)
        }
        [b'0'..=b'9' | b'+' | b'-', ..] => match year_first(bytes) {
            Some((_, length)) if forms.is_rfc_3339 && (length != 10 || bytes.get(4) != Some(&b'-')) => None,
            Some((days, length)) => with_clock(bytes, &DateText::of_days(days, length), forms),
            None => compact(bytes, forms)
                .or_else(|| with_clock(bytes, &year_last(bytes, forms)?, forms))
                .or_else(|| Some(WrittenTime::of(&period(bytes).filter(|_| has_words)?, None))),
        },
        [letter, ..] if has_words && letter.is_ascii_alphabetic() => {
            let bytes = &bytes[weekday_length(bytes)..];
            if bytes.first().is_some_and(u8::is_ascii_digit) {
                return with_clock(bytes, &year_last(bytes, forms)?, forms);
            }
            match month_word_first(bytes) {
                Some(date) => with_clock(bytes, &date, forms),
                None => clock_before_year(bytes, forms),
            }
        }
        _ => None,
    }
}

/// The time in a text that begins with a date.
fn with_clock<'a>(bytes: &'a [u8], date: &DateText, forms: &TimeForms) -> Option<WrittenTime<'a>> {
    match &bytes[date.length..] {
        [] if !forms.is_rfc_3339 => Some(WrittenTime::of(date, None)),
        [b'Z'] if !forms.is_rfc_3339 => Some(WrittenTime { has_offset: true, ..WrittenTime::of(date, None) }),
        [b' ', rest @ ..] => Some(WrittenTime::of(date, Some(clock(without_more_blanks(rest, forms), forms)?))),
        // As browsers write local times: `3/1/2024, 7:12:33 AM`.
        [b',', b' ', rest @ ..] if forms.other_dates.is_some() => {
            Some(WrittenTime::of(date, Some(clock(rest, forms)?)))
        }
        [b'T' | b't', rest @ ..] => Some(WrittenTime::of(date, Some(clock(rest, forms)?))),
        [b':', rest @ ..] if !forms.is_rfc_3339 => Some(WrittenTime::of(date, Some(clock(rest, forms)?))),
        _ => None,
    }
}

/// The text after the blanks that may follow the first one.
fn without_more_blanks<'a>(bytes: &'a [u8], forms: &TimeForms) -> &'a [u8] {
    if forms.has_wide_blanks { without_blanks(bytes, forms) } else { bytes }
}

/// `20240101T093000Z`, the form of ISO 8601 without separators, and its parts where these are accepted.
fn compact<'a>(bytes: &'a [u8], forms: &TimeForms) -> Option<WrittenTime<'a>> {
    if forms.compact == CompactTimes::Refused {
        return None;
    }
    let (date, rest) = without_separators(bytes)?;
    match rest {
        [b':', ..] => None,
        _ if forms.compact == CompactTimes::DatesAndClocks => with_clock(bytes, &date, forms),
        [b'T', rest @ ..] => Some(WrittenTime::of(&date, Some(compact_clock(rest, forms)?))),
        _ => None,
    }
}

/// `Nov 23 04:10:50 UTC 2026` as `date` prints it, with a zone or without, and `Nov 23 04:10:50` as logs have it.
fn clock_before_year<'a>(bytes: &'a [u8], forms: &TimeForms) -> Option<WrittenTime<'a>> {
    /// The smallest number of years in which every date occurs.
    const YEARS: i64 = 9;
    let (month, month_length) = month_word(bytes)?;
    let rest = bytes.get(month_length..)?.strip_prefix(b" ")?;
    // Days of one digit are padded.
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let (day, day_digits) = leading_number(rest, 2)?;
    let rest = rest[day_digits..].strip_prefix(b" ")?;
    let mut words = rest.split(|byte| *byte == b' ');
    let mut time = clock(words.next()?, forms)?;
    let (zone_word, year_word) = match (words.next(), words.next(), words.next()) {
        (None, ..) => (None, None),
        (Some(year), None, _) => (None, Some(year)),
        (Some(zone), Some(year), None) => (Some(zone), Some(year)),
        _ => return None,
    };
    if let Some(word) = zone_word {
        let ahead = offset(word, forms)??;
        time.offset = Some(time.offset.unwrap_or(0) + ahead);
    }
    let in_year = |year: i64| {
        let days = days_of_date(year, month, day)?;
        Some(WrittenTime::of(&DateText::of_days(days, 0), Some(time)))
    };
    match year_word {
        Some(word) => match leading_number(word, 4)? {
            (year, 4) if word.len() == 4 => in_year(year),
            _ => None,
        },
        None => {
            let until = forms.other_dates?.until?;
            let (year, ..) = civil_from_days(until.div_euclid(DAY_SECONDS));
            // Other clocks and zones may be ahead by a day.
            let is_past = |time: &WrittenTime<'_>| time.seconds() <= i128::from(until) + i128::from(DAY_SECONDS);
            (year - YEARS..=year + 1).rev().filter_map(in_year).find(is_past)
        }
    }
}
