//! Times and dates in the forms that only people and PostgreSQL write: `Jan 8, 1999`, `1/8/1999`, `08-Jan-99`,
//! `Mon Feb 10 17:32:01 1997 PST`, `19970210 173201 America/New_York`, `J2451187`, `44-03-15 BC`.
//!
//! A text is cut into fields. What a number means depends on the fields before it; of `1/8/1999`, the month comes
//! first, as `SHOW datestyle` says.

use super::zone::Zone;
use atsdb_core::time::{DAY_SECONDS, EPOCH_JULIAN_DAY, days_from_civil};
use atsdb_core::time_text::{
    Clock, OrderSeen, TimeForms, WrittenTime, clock, days_of_date, full_year, is_weekday, month_named,
};

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeToken<'a> {
    /// Digits, perhaps with a fraction.
    Number(&'a str),
    /// Numbers, or the name of a month, with `-`, `/` or `.` between them.
    Date(&'a str),
    /// A time of day with colons.
    Clock(&'a str),
    /// Letters.
    Word(&'a str),
    /// An offset from UTC with its sign, or a name of a zone that has more than letters.
    Zone(&'a str),
    /// `J` and the number of days since 4714-11-24 BC.
    JulianDay(&'a str),
}

/// Other words that may stand between the parts of a time.
const FILLERS: [&str; 3] = ["ad", "at", "on"];

/// The letter between a date and a time of day.
const TIME_MARK: &str = "t";

/// The last Julian day of PostgreSQL's dates.
const JULIAN_MAX: i64 = 2_147_483_493;

/// The last year of PostgreSQL's dates.
const YEAR_MAX: i64 = 5_874_897;

/// Reads a whole text. `None` if it is in no such form, or names no day.
pub(super) fn read(text: &str) -> Option<WrittenTime<'_>> {
    let mut parts = TimeParts::default();
    let mut rest = text;
    while let Some((field, length)) = next_field(rest)? {
        parts.add(field)?;
        rest = &rest[length..];
    }
    parts.finish()
}

/// The next field, and the length of the text up to its end. The outer `None` is for a text without fields, the inner
/// one for the end of the text.
fn next_field(text: &str) -> Option<Option<(TimeToken<'_>, usize)>> {
    let is_skipped = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b'(' | b')');
    let skipped = text.bytes().take_while(is_skipped).count();
    let rest = &text[skipped..];
    let Some(&first) = rest.as_bytes().first() else { return Some(None) };
    let field = match first {
        b'0'..=b'9' => numeric_field(rest),
        b'+' | b'-' if rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => {
            TimeToken::Zone(leading(rest, 1, |byte| byte.is_ascii_digit() || byte == b':'))
        }
        byte if byte.is_ascii_alphabetic() => word_field(rest),
        _ => return None,
    };
    let (TimeToken::Number(part)
    | TimeToken::Date(part)
    | TimeToken::Clock(part)
    | TimeToken::Word(part)
    | TimeToken::Zone(part)
    | TimeToken::JulianDay(part)) = field;
    Some(Some((field, skipped + part.len())))
}

/// The part of a text that begins with a number of bytes, and continues while the bytes fit.
fn leading(text: &str, from: usize, fits: impl Fn(u8) -> bool) -> &str {
    &text[..from + text.bytes().skip(from).take_while(|byte| fits(*byte)).count()]
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b'-' | b'/' | b'.')
}

/// The field that begins with a digit.
fn numeric_field(text: &str) -> TimeToken<'_> {
    let digits = leading(text, 0, |byte| byte.is_ascii_digit());
    let next = |at: usize| text.as_bytes().get(at).copied().unwrap_or_default();
    match next(digits.len()) {
        b':' => TimeToken::Clock(leading(text, 0, |byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'))),
        b'.' => {
            let fraction = leading(text, digits.len() + 1, |byte| byte.is_ascii_digit());
            match next(fraction.len()) {
                b'.' => TimeToken::Date(leading(text, 0, |byte| byte.is_ascii_digit() || byte == b'.')),
                _ => TimeToken::Number(fraction),
            }
        }
        separator @ (b'-' | b'/') if next(digits.len() + 1).is_ascii_digit() => {
            TimeToken::Date(leading(text, 0, |byte| byte.is_ascii_digit() || byte == separator))
        }
        separator @ (b'-' | b'/') if next(digits.len() + 1).is_ascii_alphabetic() => {
            TimeToken::Date(leading(text, 0, |byte| byte.is_ascii_alphanumeric() || byte == separator))
        }
        _ => TimeToken::Number(digits),
    }
}

/// The field that begins with a letter.
fn word_field(text: &str) -> TimeToken<'_> {
    let word = leading(text, 0, |byte| byte.is_ascii_alphabetic());
    let after = |at: usize| text.as_bytes().get(at).copied().unwrap_or_default();
    let next = after(word.len());
    if word.eq_ignore_ascii_case("j") && next.is_ascii_digit() {
        return TimeToken::JulianDay(leading(text, 1, |byte| byte.is_ascii_digit()));
    }
    if month_of(word).is_some() {
        return match next {
            separator if is_separator(separator) && after(word.len() + 1).is_ascii_alphanumeric() => {
                TimeToken::Date(leading(text, 0, |byte| byte.is_ascii_alphanumeric() || byte == separator))
            }
            _ => TimeToken::Word(word),
        };
    }
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'+' | b'-' | b':');
    match next {
        b'/' | b'_' | b'+' | b'-' => TimeToken::Zone(leading(text, 0, is_of_name)),
        b'0'..=b'9' if !is_filler(word) && !is_time_mark(word) => TimeToken::Zone(leading(text, 0, is_of_name)),
        _ => TimeToken::Word(word),
    }
}

/// The number of a month by its English name. `Sept` is a fourth form of September.
fn month_of(word: &str) -> Option<i64> {
    month_named(if word.eq_ignore_ascii_case("sept") { "sep" } else { word })
}

fn is_filler(word: &str) -> bool {
    FILLERS.iter().any(|filler| word.eq_ignore_ascii_case(filler))
}

fn is_time_mark(word: &str) -> bool {
    word.eq_ignore_ascii_case(TIME_MARK)
}

/// The parts of a time that were found in the fields of a text so far.
#[derive(Debug, Default)]
struct TimeParts<'a> {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    /// The days since the epoch, if they are given as one number.
    days: Option<i64>,
    day_of_year: Option<i64>,
    is_short_year: bool,
    has_month_word: bool,
    is_before_christ: bool,
    /// Whether a mark says that a time of day follows the date.
    has_time_mark: bool,
    clock: Option<Clock<'a>>,
    /// The first hour of the half of the day.
    half: Option<i64>,
    zone: Option<&'a str>,
}

impl<'a> TimeParts<'a> {
    fn has_date(&self) -> bool {
        let has_day = self.day_of_year.is_some() || (self.month.is_some() && self.day.is_some());
        self.days.is_some() || (self.year.is_some() && has_day)
    }

    fn has_no_date(&self) -> bool {
        self.days.is_none() && self.year.is_none() && self.month.is_none() && self.day.is_none()
    }

    fn add(&mut self, field: TimeToken<'a>) -> Option<()> {
        match field {
            TimeToken::Number(digits) => self.add_number(digits),
            TimeToken::Date(text) => self.add_date(text),
            TimeToken::Clock(text) => self.set_clock(clock(text.as_bytes(), &TimeForms::SQL)?),
            TimeToken::Word(word) => self.add_word(word),
            TimeToken::Zone(zone) => self.set_zone(zone),
            TimeToken::JulianDay(text) if self.has_no_date() => {
                let day = text[1..].parse::<i64>().ok().filter(|day| *day <= JULIAN_MAX)?;
                self.days = Some(day - EPOCH_JULIAN_DAY);
                Some(())
            }
            TimeToken::JulianDay(_) => None,
        }
    }

    /// Digits that stand alone: a part of a date, or a date or a time of day without separators.
    fn add_number(&mut self, digits: &'a str) -> Option<()> {
        let has_time_next = self.has_date() && self.clock.is_none();
        if let Some((year, day)) = digits.split_once('.')
            && self.has_no_date()
            && day.len() == 3
        {
            self.set_year(year)?;
            self.day_of_year = Some(day.parse().ok()?);
            return Some(());
        }
        if has_time_next {
            return self.set_clock(clock(digits.as_bytes(), &TimeForms::SQL)?);
        }
        if digits.len() >= 6 && self.has_no_date() && !digits.contains('.') {
            let (rest, day) = digits.split_at(digits.len() - 2);
            let (year, month) = rest.split_at(rest.len() - 2);
            self.month = Some(month.parse().ok()?);
            self.day = Some(day.parse().ok()?);
            return self.set_year(year);
        }
        self.add_part_of_date(digits)
    }

    /// A date with separators, or what an earlier field left of it: `2001 02-03`. The name of a month in it counts
    /// before its numbers.
    fn add_date(&mut self, text: &'a str) -> Option<()> {
        let parts = || text.split(|letter: char| !letter.is_ascii_alphanumeric());
        let is_word = |part: &&str| part.bytes().all(|byte| byte.is_ascii_alphabetic());
        if self.days.is_some() || self.day_of_year.is_some() {
            return None;
        }
        for word in parts().filter(is_word) {
            self.add_month(month_of(word)?)?;
        }
        for number in parts().filter(|part| !is_word(part)) {
            self.add_part_of_date(number)?;
        }
        self.has_date().then_some(())
    }

    /// The next number of a date.
    fn add_part_of_date(&mut self, digits: &str) -> Option<()> {
        let value: i64 = digits.parse().ok()?;
        let is_long = digits.len() >= 3;
        let set_year = match (self.year.is_some(), self.month.is_some(), self.day.is_some()) {
            (false, false, false) => is_long,
            (false, true, false) => self.has_month_word && is_long,
            (false, true, true) => true,
            (true, true, false) if self.has_month_word && is_long && self.is_short_year => {
                // `08-Jan-1999`: the first number was the day.
                self.day = self.year;
                self.is_short_year = false;
                true
            }
            (true, true, true) => return None,
            _ => false,
        };
        if set_year {
            return self.set_year(digits);
        }
        let part = if self.month.is_none() { &mut self.month } else { &mut self.day };
        *part = Some(value);
        Some(())
    }

    fn set_year(&mut self, digits: &str) -> Option<()> {
        let year: i64 = digits.parse().ok()?;
        self.is_short_year = digits.len() <= 2;
        self.year = Some(year);
        (year <= YEAR_MAX).then_some(())
    }

    /// The name of a month. A number before it was the day.
    fn add_month(&mut self, month: i64) -> Option<()> {
        if self.month.is_some() {
            if self.has_month_word || self.day.is_some() {
                return None;
            }
            self.day = self.month;
        }
        self.month = Some(month);
        self.has_month_word = true;
        Some(())
    }

    fn add_word(&mut self, word: &'a str) -> Option<()> {
        if let Some(month) = month_of(word) {
            return self.add_month(month);
        }
        match word.to_ascii_lowercase().as_str() {
            "am" => self.set_half(0),
            "pm" => self.set_half(12),
            "bc" => {
                self.is_before_christ = true;
                Some(())
            }
            _ if is_time_mark(word) => {
                self.has_time_mark = true;
                (self.has_date() && self.clock.is_none()).then_some(())
            }
            _ if is_filler(word) || is_weekday(word) => Some(()),
            _ => self.set_zone(word),
        }
    }

    /// The half of the day, after a time of day.
    fn set_half(&mut self, from: i64) -> Option<()> {
        let is_first = self.half.replace(from).is_none();
        (is_first && self.clock.is_some()).then_some(())
    }

    fn set_clock(&mut self, time: Clock<'a>) -> Option<()> {
        let is_first = self.clock.replace(time).is_none();
        is_first.then_some(())
    }

    fn set_zone(&mut self, zone: &'a str) -> Option<()> {
        let is_first = self.zone.replace(zone).is_none();
        (is_first && Zone::is_name(zone)).then_some(())
    }

    fn finish(self) -> Option<WrittenTime<'a>> {
        let days = self.written_days()?;
        let mut time = self.clock;
        if self.has_time_mark && time.is_none() {
            return None;
        }
        if let (Some(from), Some(clock)) = (self.half, &mut time) {
            let (hour, rest) = (clock.seconds / 3_600, clock.seconds % 3_600);
            if hour > 12 {
                return None;
            }
            clock.seconds = (hour % 12 + from) * 3_600 + rest;
        }
        if let Some(zone) = self.zone {
            let clock = time.get_or_insert(Clock { seconds: 0, fraction: b"", offset: None });
            clock.offset = Some(Zone::named(zone).ok()?.ahead_of_local(days * DAY_SECONDS + clock.seconds));
        }
        Some(WrittenTime {
            days,
            clock: time,
            has_offset: self.zone.is_some(),
            is_short_year: self.is_short_year,
            order: OrderSeen::Fixed,
            is_period: false,
        })
    }

    /// The days since the epoch.
    fn written_days(&self) -> Option<i64> {
        if let Some(days) = self.days {
            return Some(days);
        }
        let year = match self.year? {
            0 if !self.is_short_year => return None,
            year if self.is_before_christ => 1 - year,
            year if self.is_short_year => full_year(year),
            year => year,
        };
        let Some(day) = self.day_of_year else { return days_of_date(year, self.month?, self.day?) };
        // As in PostgreSQL, every year has 366 days here: the last one may be the first of the next year.
        (1..=366).contains(&day).then(|| days_from_civil(year, 1, 1) + day - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::TimeUnit;
    use atsdb_core::time::{format_date, format_time};

    fn seconds(text: &str) -> Option<String> {
        let time = read(text)?;
        Some(format_time(i64::try_from(time.count(TimeUnit::Second).0).ok()?, TimeUnit::Second))
    }

    #[test]
    fn dates_in_many_orders() {
        for text in [
            "January 8, 1999",
            "1/8/1999",
            "01/08/99",
            "990108",
            "19990108",
            "1999.008",
            "J2451187",
            "1999-Jan-08",
            "08-Jan-1999",
            "08-Jan-99",
            "Jan-08-1999",
            "1999 Jan 08",
            "08 Jan 1999",
            "Jan 08 99",
            "1999 08 Jan",
            "01-08-1999",
            "1999 01 08",
            "1999 01-08",
            "1999 1/8",
            "Jan 8-1999",
            "Fri Jan 8 1999",
            "friday jan 8 1999 AD",
        ] {
            let days = read(text).map(|time| format_date(time.days));
            assert_eq!(days.as_deref(), Some("1999-01-08"), "{text}");
        }
        for text in ["March 15, 44 BC", "0044-03-15 (BC)"] {
            assert_eq!(read(text).map(|time| time.days), Some(days_from_civil(-43, 3, 15)), "{text}");
        }
    }

    #[test]
    fn times_with_zones() {
        for text in [
            "Mon Feb 10 17:32:01 1997 PST",
            "Mon Feb 10 17:32:01 PST 1997",
            "Feb 10 5:32:01 PM 1997 -0800",
            "1997-02-10 17:32:01 PST",
            "1997-02-10T17:32:01PST",
            "1997-02-10t17:32:01-08:00:00",
            "02-10-1997 17:32:01 PST",
            "19970210 173201 America/Los_Angeles",
            "10FEB97 5:32:01PM PST+8",
            "1997.041 17:32:01 -8",
            "1997-02-10T17:32:01-08:00:00",
            "1997-02-10t173201 PST",
        ] {
            assert_eq!(seconds(text), seconds("1997-02-11 01:32:01 +0"), "{text}");
            assert!(read(text).is_some_and(|time| time.has_offset), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "Jan",
            "January 1999",
            "Feb 30 1999",
            "13/13/1999",
            "1999-01-08 10:00 Nowhere",
            "1999-01-08 10:00 10:00",
            "1999-01-08 UTC PST",
            "99 Jan 08",
            "01-08",
            "1999 01-08-01",
            "1999-01-08 01-08",
            "J2451187 01-08",
            "1999.008 01-08",
            "1999.367",
            "10:00",
            "1999-01-08 14:00 PM",
            "1999-01-08T",
            "1999-01-08 T PST",
            "T10:00:00 1999-01-08 PST",
            "1999-08-Jan",
            "infinity",
            "8. Jänner 1999",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
