//! Intervals in text, as PostgreSQL reads them: `1 year 2 mons -3 days 04:05:06.7`, `P1DT2H`, `1-2`, `3 4:05`, `1 day
//! ago`; a plain number counts the unit after the quotes, or seconds.

use crate::time::DAY_NANOSECONDS;

const SECOND_NANOS: i128 = 1_000_000_000;
const MONTH_DAYS: i128 = 30;

/// The digits of a fraction that are read. A nanosecond is the 14th digit of a day.
const FRACTION_DIGITS_MAX: usize = 18;

/// An interval. Months and days have no fixed length, so the three parts are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Months; twelve are a year.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Nanoseconds.
    pub nanoseconds: i64,
}

/// The units of numbers, from the longest to the shortest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// Twelve months.
    Year,
    /// A month.
    Month,
    /// A day.
    Day,
    /// An hour.
    Hour,
    /// A minute.
    Minute,
    /// A second.
    Second,
}

/// Months, days and nanoseconds that are added up.
#[derive(Debug, Default, Clone, Copy)]
struct IntervalSum {
    months: i128,
    days: i128,
    nanos: i128,
}

/// Parses a text. `first` and `last` are the units after it, as in `'1' DAY TO SECOND`. `None` if the text is invalid
/// or the length is out of range.
pub fn parse_interval(text: &str, first: Option<Unit>, last: Option<Unit>) -> Option<Interval> {
    parts_of(text, first, last)?.interval()
}

/// Returns whether a text, with the units after it, is an interval that is out of range.
pub fn is_out_of_range(text: &str, first: Option<Unit>, last: Option<Unit>) -> bool {
    parts_of(text, first, last).is_some_and(|parts| parts.interval().is_none())
}

fn parts_of(text: &str, first: Option<Unit>, last: Option<Unit>) -> Option<IntervalSum> {
    let lower = join_signs(text.trim().to_ascii_lowercase());
    let (mut parts, text) = (IntervalSum::default(), lower.trim_start_matches('@').trim());
    let (text, is_ago) = match text.strip_suffix("ago") {
        Some(before) => (before.trim_end(), true),
        None => (text, false),
    };
    let bare = last.or(first).unwrap_or(Unit::Second);
    match text.strip_prefix('p') {
        Some(iso) => parts.add_iso(iso)?,
        None => parts.add_words(text, bare, first.zip(last))?,
    }
    if is_ago {
        parts = IntervalSum { months: -parts.months, days: -parts.days, nanos: -parts.nanos };
    }
    parts.cut(last.or(first));
    Some(parts)
}

/// Removes the spaces between a sign and its number, as in `1 month - 1 day`.
fn join_signs(text: String) -> String {
    let is_sign = |word: &str| matches!(word, "-" | "+");
    if !text.split_whitespace().any(is_sign) {
        return text;
    }
    let (mut joined, mut follows_sign) = (String::with_capacity(text.len()), false);
    for word in text.split_whitespace() {
        let is_joined = follows_sign && word.starts_with(|first: char| first.is_ascii_digit() || first == '.');
        if !joined.is_empty() && !is_joined {
            joined.push(' ');
        }
        joined.push_str(word);
        follows_sign = is_sign(word);
    }
    joined
}

impl IntervalSum {
    /// The interval, if it is in range.
    fn interval(&self) -> Option<Interval> {
        let (months, days) = (i32::try_from(self.months).ok()?, i32::try_from(self.days).ok()?);
        Some(Interval { months, days, nanoseconds: i64::try_from(self.nanos).ok()? })
    }

    fn add_iso(&mut self, text: &str) -> Option<()> {
        if text.contains('-') && text.starts_with(|first: char| first.is_ascii_digit()) && !text.contains(is_iso_unit) {
            return self.add_iso_date(text);
        }
        let (mut rest, mut in_time, mut found) = (text, false, false);
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('t') {
                (rest, in_time) = (after, true);
                continue;
            }
            let (number, after) = number_at(rest)?;
            let mut letters = after.chars();
            match (letters.next()?, in_time) {
                ('y', false) => self.add(number, 12, 0, 0),
                ('m', false) => self.add(number, 1, 0, 0),
                ('w', false) => self.add(number, 0, 7, 0),
                ('d', false) => self.add(number, 0, 1, 0),
                ('h', true) => self.add(number, 0, 0, 3_600 * SECOND_NANOS),
                ('m', true) => self.add(number, 0, 0, 60 * SECOND_NANOS),
                ('s', true) => self.add(number, 0, 0, SECOND_NANOS),
                _ => return None,
            }
            (rest, found) = (letters.as_str(), true);
        }
        found.then_some(())
    }

    /// `0001-02-03t04:05:06`: years, months and days, and a clock.
    fn add_iso_date(&mut self, text: &str) -> Option<()> {
        let (date, clock) = text.split_once('t').map_or((text, None), |(date, clock)| (date, Some(clock)));
        let parts = date.split('-').map(|part| part.parse::<u32>().ok().map(i128::from)).collect::<Option<Vec<_>>>()?;
        let (years, months, days) = match parts.as_slice() {
            [years, months] => (years, months, &0),
            [years, months, days] => (years, months, days),
            _ => return None,
        };
        self.months += years * 12 + months;
        self.days += days;
        clock.map_or(Some(()), |clock| self.add_clock(clock, false))
    }

    /// Adds clocks, and numbers with their units. `fields` are the two units after the text.
    fn add_words(&mut self, text: &str, bare: Unit, fields: Option<(Unit, Unit)>) -> Option<()> {
        let has_days_and_hours = fields == Some((Unit::Day, Unit::Hour));
        let has_minutes_first = fields == Some((Unit::Minute, Unit::Second));
        let (mut rest, mut found) = (text, false);
        while !rest.is_empty() {
            let clock = rest.split_whitespace().next()?;
            if clock.contains(':') {
                self.add_clock(clock, has_minutes_first)?;
                rest = rest[clock.len()..].trim_start();
            } else if let Some((years, months)) = year_and_month(clock) {
                self.months += years * 12 + months;
                rest = rest[clock.len()..].trim_start();
            } else {
                let (number, after) = number_at(rest)?;
                let after = after.trim_start();
                let length = after.bytes().take_while(u8::is_ascii_alphabetic).count();
                let (unit, after) = after.split_at(length);
                match unit {
                    // `3 4:05:06` are days and a clock.
                    "" if after.split_whitespace().next().is_some_and(|next| next.contains(':')) => {
                        self.add(number, 0, 1, 0);
                    }
                    // `1 2` are days and hours before `DAY TO HOUR`.
                    "" if has_days_and_hours && !after.is_empty() => self.add(number, 0, 1, 0),
                    "" if after.is_empty() => self.add_unit(number, unit_name(bare))?,
                    "" => return None,
                    unit => self.add_unit(number, unit)?,
                }
                rest = after.trim_start();
            }
            found = true;
        }
        found.then_some(())
    }

    fn add_unit(&mut self, number: Number, unit: &str) -> Option<()> {
        let clock = |nanos: i128| (0, 0, nanos);
        let (months, days, nanos) = match unit {
            "year" | "years" | "y" | "yr" | "yrs" => (12, 0, 0),
            "month" | "months" | "mon" | "mons" => (1, 0, 0),
            "quarter" | "quarters" => (3, 0, 0),
            "decade" | "decades" | "dec" | "decs" => (120, 0, 0),
            "century" | "centuries" | "cent" | "c" => (1_200, 0, 0),
            "millennium" | "millennia" | "mil" | "mils" => (12_000, 0, 0),
            "week" | "weeks" | "w" => (0, 7, 0),
            "day" | "days" | "d" => (0, 1, 0),
            "hour" | "hours" | "h" | "hr" | "hrs" => clock(3_600 * SECOND_NANOS),
            "minute" | "minutes" | "m" | "min" | "mins" => clock(60 * SECOND_NANOS),
            "second" | "seconds" | "s" | "sec" | "secs" => clock(SECOND_NANOS),
            "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millis" => {
                clock(1_000_000)
            }
            "microsecond" | "microseconds" | "us" | "usec" | "usecs" | "usecond" | "useconds" | "micros" => {
                clock(1_000)
            }
            "nanosecond" | "nanoseconds" | "ns" | "nanos" => clock(1),
            _ => return None,
        };
        self.add(number, months, days, nanos);
        Some(())
    }

    /// Adds a number of units. A fraction of a month becomes days, and a fraction of a day becomes nanoseconds.
    fn add(&mut self, number: Number, months: i128, days: i128, nanos: i128) {
        let Number { digits, scale } = number;
        let total = digits * months;
        // A fraction of a year is rounded to months.
        let of_month = if months > 1 { 0 } else { total % scale };
        self.months += if months > 1 { rounded(total, scale) } else { total / scale };
        let days = digits * days + of_month * MONTH_DAYS;
        self.days += days / scale;
        let of_day = (days % scale) * i128::from(DAY_NANOSECONDS) / scale;
        self.nanos += of_day + digits / scale * nanos + digits % scale * nanos / scale;
    }

    /// `04:05`, `04:05:06.7`; `05:06` before `MINUTE TO SECOND` are minutes and seconds.
    fn add_clock(&mut self, text: &str, has_minutes_first: bool) -> Option<()> {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text.trim_start_matches('+')),
        };
        let parts: Vec<&str> = text.split(':').collect();
        let whole = |text: &str| text.parse::<u32>().ok().map(i128::from);
        let (hours, minutes, seconds) = match parts.as_slice() {
            [minutes, seconds] if has_minutes_first || seconds.contains('.') => (0, whole(minutes)?, *seconds),
            // Nothing after the last colon is 0.
            [hours, ""] => (whole(hours)?, 0, "0"),
            [hours, minutes] => (whole(hours)?, whole(minutes)?, "0"),
            [hours, minutes, ""] => (whole(hours)?, whole(minutes)?, "0"),
            [hours, minutes, seconds] => (whole(hours)?, whole(minutes)?, *seconds),
            _ => return None,
        };
        let (Number { digits, scale }, "") = number_at(seconds)? else { return None };
        if minutes > 59 && hours > 0 || digits / scale > 60 {
            return None;
        }
        let nanos = (hours * 3_600 + minutes * 60) * SECOND_NANOS + digits * SECOND_NANOS / scale;
        self.nanos += if is_negative { -nanos } else { nanos };
        Some(())
    }

    /// Removes the parts that are shorter than a unit.
    fn cut(&mut self, unit: Option<Unit>) {
        let nanos = match unit {
            None | Some(Unit::Second) => return,
            Some(Unit::Minute) => 60 * SECOND_NANOS,
            Some(Unit::Hour) => 3_600 * SECOND_NANOS,
            Some(Unit::Day) => {
                self.nanos = 0;
                return;
            }
            Some(Unit::Month) => {
                (self.days, self.nanos) = (0, 0);
                return;
            }
            Some(Unit::Year) => {
                (self.days, self.nanos, self.months) = (0, 0, self.months / 12 * 12);
                return;
            }
        };
        self.nanos = self.nanos / nanos * nanos;
    }
}

/// Returns whether a letter is a unit behind a number, as in `P1Y2M`.
fn is_iso_unit(letter: char) -> bool {
    matches!(letter, 'y' | 'm' | 'w' | 'd' | 'h' | 's')
}

/// The integer nearest to the quotient; ties go to the even one.
fn rounded(dividend: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (dividend / divisor, (dividend % divisor).abs() * 2);
    let is_up = rest > divisor || rest == divisor && quotient % 2 != 0;
    quotient + if is_up { dividend.signum() } else { 0 }
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Year => "year",
        Unit::Month => "month",
        Unit::Day => "day",
        Unit::Hour => "hour",
        Unit::Minute => "minute",
        Unit::Second => "second",
    }
}

/// `digits / scale`.
#[derive(Debug, Clone, Copy)]
struct Number {
    digits: i128,
    scale: i128,
}

/// The number at the start of a text, and the rest.
fn number_at(text: &str) -> Option<(Number, &str)> {
    let sign = usize::from(text.starts_with(['-', '+']));
    let length = text[sign..].bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let (written, rest) = text[sign..].split_at(length);
    let (whole, fraction) = written.split_once('.').unwrap_or((written, ""));
    if whole.len() + fraction.len() == 0 || whole.len() > 12 || fraction.contains('.') {
        return None;
    }
    let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS_MAX)];
    let scale = 10_i128.pow(fraction.len() as u32);
    let digits: i128 = format!("0{whole}{fraction}").parse().ok()?;
    Some((Number { digits: if text.starts_with('-') { -digits } else { digits }, scale }, rest))
}

/// `1-2`: years and months.
fn year_and_month(text: &str) -> Option<(i128, i128)> {
    let (is_negative, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let (years, months) = text.split_once('-')?;
    let months = if months.is_empty() { 0 } else { months.parse::<u32>().ok()? };
    let (years, months) = (i128::from(years.parse::<u32>().ok()?), i128::from(months));
    (months < 12).then_some(if is_negative { (-years, -months) } else { (years, months) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval_text::interval_text;

    fn interval(months: i32, days: i32, nanoseconds: i64) -> Option<Interval> {
        Some(Interval { months, days, nanoseconds })
    }

    #[test]
    fn lengths_out_of_range_are_told_from_other_texts() {
        for text in ["2147483648 days", "-178956971 years", "2562048 hours", "P2147483648D"] {
            assert!(parse_interval(text, None, None).is_none() && is_out_of_range(text, None, None), "{text}");
        }
        for text in ["1 day", "1 fortnight", "day", ""] {
            assert!(!is_out_of_range(text, None, None), "{text}");
        }
    }

    #[test]
    fn lengths_are_read_as_postgresql_reads_them() {
        const HOUR: i64 = 3_600_000_000_000;
        for (text, expected) in [
            ("1", interval(0, 0, HOUR / 3_600)),
            ("1 year 2 mons -3 days 04:05:06.7", interval(14, -3, 4 * HOUR + 306_700_000_000)),
            ("1 day 2:", interval(0, 1, 2 * HOUR)),
            ("-1:30:", interval(0, 0, -HOUR - HOUR / 2)),
            ("1-", interval(12, 0, 0)),
            ("1.5 days", interval(0, 1, 12 * HOUR)),
            ("1.5 months", interval(1, 15, 0)),
            ("1.5 weeks", interval(0, 10, 12 * HOUR)),
            ("0.8 years", interval(10, 0, 0)),
            ("P1Y2M3DT4H5M6S", interval(14, 3, 4 * HOUR + 306_000_000_000)),
            ("PT36H", interval(0, 0, 36 * HOUR)),
            ("P0001-02-03T04:05:06", interval(14, 3, 4 * HOUR + 306_000_000_000)),
            ("P0001-02-03", interval(14, 3, 0)),
            ("P1-2", interval(14, 0, 0)),
            ("25:30:60", interval(0, 0, 25 * HOUR + 31 * HOUR / 60)),
            ("1-2", interval(14, 0, 0)),
            ("3 4:05", interval(0, 3, 4 * HOUR + 300_000_000_000)),
            ("@ 1 day 2 hours ago", interval(0, -1, -2 * HOUR)),
            ("-00:01", interval(0, 0, -60_000_000_000)),
            ("250 ms", interval(0, 0, 250_000_000)),
            ("1h", interval(0, 0, HOUR)),
            ("3 msecond 16 useconds", interval(0, 0, 3_016_000)),
            ("0.0000000005 days", interval(0, 0, 43_200)),
            ("-0.000000000001 hours", interval(0, 0, -3)),
            ("1000000.000000000001 hours", interval(0, 0, 1_000_000 * HOUR + 3)),
            ("1 second 20 mseconds 16 useconds", interval(0, 0, 1_020_016_000)),
        ] {
            assert_eq!(parse_interval(text, None, None), expected, "{text}");
        }
        for text in [
            "",
            "day",
            "1 fortnight",
            "P",
            "1 2",
            "1:2:3:4",
            ":",
            "-",
            "1-2-",
            "25:30:61",
            "P1-2-3-4",
            "1-13",
            "99999999999 years",
        ] {
            assert_eq!(parse_interval(text, None, None), None, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for (months, days, nanoseconds) in
            [(0, 0, 0), (-1, 1, 1_000_000_001), (0, -7, 36_000_000_000_000), (i32::MIN, i32::MAX, i64::MAX)]
        {
            let text = interval_text(months, days, nanoseconds);
            assert_eq!(parse_interval(&text, None, None), interval(months, days, nanoseconds), "{text}");
        }
    }

    #[test]
    fn the_words_behind_say_what_is_counted_and_what_is_cut() {
        const HOUR: i64 = 3_600_000_000_000;
        use Unit::{Day, Hour, Minute, Month, Second, Year};
        for (text, first, last, expected) in [
            ("1.5", Hour, None, interval(0, 0, HOUR)),
            ("90", Minute, None, interval(0, 0, 90 * HOUR / 60)),
            ("1-2", Year, Some(Month), interval(14, 0, 0)),
            ("1 2:03", Day, Some(Minute), interval(0, 1, 2 * HOUR + 3 * HOUR / 60)),
            ("1 2:03", Day, Some(Second), interval(0, 1, 2 * HOUR + 3 * HOUR / 60)),
            ("1 2", Day, Some(Hour), interval(0, 1, 2 * HOUR)),
            ("1 2", Day, Some(Second), None),
            ("2:03", Hour, Some(Second), interval(0, 0, 2 * HOUR + 3 * HOUR / 60)),
            ("2:03", Minute, Some(Second), interval(0, 0, 123_000_000_000)),
            ("1 day 2 hours", Day, None, interval(0, 1, 0)),
        ] {
            assert_eq!(parse_interval(text, Some(first), last), expected, "{text}");
        }
    }
}
