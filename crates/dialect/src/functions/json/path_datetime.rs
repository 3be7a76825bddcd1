//! What `.datetime()` reads: strings in the forms of ISO 8601, and those in a template of PostgreSQL's patterns. A
//! separator of a template stands for itself, and a string must end with its template.

use super::path_failures::PathFailure;
use super::path_times::{PathTime, PathTimeType};
use atsdb_core::time::{days_from_civil, days_in_month};
use std::sync::LazyLock;

type Result<T> = std::result::Result<T, PathFailure>;

const SECOND_MICROS: i64 = 1_000_000;
const DAY_MICROS: i64 = 86_400 * SECOND_MICROS;

/// The separators that a template may have outside of quotes.
const SEPARATORS: &str = "-./,':; ";

/// The templates that are tried without one, in this order.
static STANDARD: LazyLock<Vec<Vec<TemplatePart>>> = LazyLock::new(|| {
    let zones = ["TZH:TZM", "TZH", ""];
    let times =
        || zones.into_iter().flat_map(|zone| ["HH24:MI:SS.US", "HH24:MI:SS"].map(|time| format!("{time}{zone}")));
    let with_date = |separator: &'static str| times().map(move |time| format!("YYYY-MM-DD{separator}{time}"));
    let templates = std::iter::once("YYYY-MM-DD".to_owned());
    let templates = templates.chain(times()).chain(with_date(" ")).chain(with_date("\"T\""));
    templates.filter_map(|template| parts_of(&template).ok()).collect()
});

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Field(TemplateField),
    Separator(char),
    /// Text in quotes, which stands for as many characters.
    Quoted(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TemplateField {
    Year,
    Month,
    Day,
    DayOfYear,
    Hour24,
    Hour12,
    Minute,
    Second,
    SecondOfDay,
    /// At most this many digits of the fraction of a second.
    Fraction(usize),
    /// `AM` or `A.M.`.
    HalfOfDay {
        has_points: bool,
    },
    ZoneHour,
    ZoneMinute,
}

/// All fields. A longer word stands before each word that it begins with.
const WORDS: [(&str, TemplateField); 25] = [
    ("YYYY", TemplateField::Year),
    ("MM", TemplateField::Month),
    ("DDD", TemplateField::DayOfYear),
    ("DD", TemplateField::Day),
    ("HH24", TemplateField::Hour24),
    ("HH12", TemplateField::Hour12),
    ("HH", TemplateField::Hour12),
    ("MI", TemplateField::Minute),
    ("SSSSS", TemplateField::SecondOfDay),
    ("SSSS", TemplateField::SecondOfDay),
    ("SS", TemplateField::Second),
    ("MS", TemplateField::Fraction(3)),
    ("US", TemplateField::Fraction(6)),
    ("FF1", TemplateField::Fraction(1)),
    ("FF2", TemplateField::Fraction(2)),
    ("FF3", TemplateField::Fraction(3)),
    ("FF4", TemplateField::Fraction(4)),
    ("FF5", TemplateField::Fraction(5)),
    ("FF6", TemplateField::Fraction(6)),
    ("A.M.", TemplateField::HalfOfDay { has_points: true }),
    ("P.M.", TemplateField::HalfOfDay { has_points: true }),
    ("AM", TemplateField::HalfOfDay { has_points: false }),
    ("PM", TemplateField::HalfOfDay { has_points: false }),
    ("TZH", TemplateField::ZoneHour),
    ("TZM", TemplateField::ZoneMinute),
];

impl TemplateField {
    fn word(self) -> &'static str {
        WORDS.iter().find(|(_, field)| *field == self).map_or("", |(word, _)| word)
    }

    fn digits_max(self) -> usize {
        match self {
            Self::Year => 4,
            Self::DayOfYear => 3,
            Self::SecondOfDay => 5,
            Self::Fraction(digits) => digits,
            _ => 2,
        }
    }

    fn is_of_date(self) -> bool {
        matches!(self, Self::Year | Self::Month | Self::Day | Self::DayOfYear)
    }

    fn is_of_zone(self) -> bool {
        matches!(self, Self::ZoneHour | Self::ZoneMinute)
    }
}

/// Reads a string by a template; without one, in any of the forms of ISO 8601.
pub(super) fn read(text: &str, template: Option<&str>) -> Result<PathTime> {
    if let Some(template) = template {
        return read_parts(text, &parts_of(template)?);
    }
    let mut times = STANDARD.iter().filter_map(|parts| read_parts(text, parts).ok());
    times.next().ok_or_else(|| PathFailure::no_datetime_format(text))
}

/// Takes a template apart.
fn parts_of(template: &str) -> Result<Vec<TemplatePart>> {
    let (mut parts, mut rest) = (Vec::new(), template);
    while let Some(first) = rest.chars().next() {
        let is_begun = |word: &str| rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        if let Some((word, field)) = WORDS.iter().find(|(word, _)| is_begun(word)) {
            parts.push(TemplatePart::Field(*field));
            rest = &rest[word.len()..];
        } else if first == '"' {
            let (quoted, behind) = rest[1..].split_once('"').unwrap_or((&rest[1..], ""));
            parts.push(TemplatePart::Quoted(quoted.to_owned()));
            rest = behind;
        } else if SEPARATORS.contains(first) {
            parts.push(TemplatePart::Separator(first));
            rest = &rest[first.len_utf8()..];
        } else {
            return Err(PathFailure::wrong_separator(first));
        }
    }
    Ok(parts)
}

fn read_parts(text: &str, parts: &[TemplatePart]) -> Result<PathTime> {
    let mut fields = TimeFields::default();
    let mut rest = text;
    for (at, part) in parts.iter().enumerate() {
        if rest.is_empty() {
            return Err(PathFailure::wrong_datetime("input string is too short for datetime format"));
        }
        rest = match part {
            TemplatePart::Field(field) => {
                let is_followed = matches!(parts.get(at + 1), Some(TemplatePart::Field(_)));
                fields.take(rest, *field, is_followed).ok_or_else(|| {
                    let start: String = rest.chars().take(field.digits_max()).collect();
                    PathFailure::wrong_datetime(format!("invalid value \"{start}\" for \"{}\"", field.word()))
                })?
            }
            TemplatePart::Separator(separator) => rest
                .strip_prefix(*separator)
                .ok_or_else(|| PathFailure::wrong_datetime(format!("unmatched format separator \"{separator}\"")))?,
            TemplatePart::Quoted(quoted) => rest
                .strip_prefix(quoted.as_str())
                .ok_or_else(|| PathFailure::wrong_datetime(format!("unmatched format character \"{quoted}\"")))?,
        };
    }
    if !rest.is_empty() {
        return Err(PathFailure::wrong_datetime("trailing characters remain in input string after datetime format"));
    }
    let has = |is_it: fn(TemplateField) -> bool| {
        parts.iter().any(|part| matches!(part, TemplatePart::Field(field) if is_it(*field)))
    };
    let has_zone = has(TemplateField::is_of_zone);
    let has_time = has(|field| !field.is_of_date() && !field.is_of_zone());
    let wrong = || {
        let problem = if has_zone { "is zoned but not timed" } else { "is not dated and not timed" };
        PathFailure::wrong_datetime(format!("datetime format {problem}"))
    };
    let time_type = PathTimeType::of_parts(has(TemplateField::is_of_date), has_time, has_zone).ok_or_else(wrong)?;
    fields
        .time(time_type)
        .ok_or_else(|| PathFailure::wrong_datetime(format!("date/time field value out of range: \"{text}\"")))
}

/// The fields of a date and time that have been read.
#[derive(Debug, Default)]
struct TimeFields {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    hour: i64,
    hour_of_half: Option<i64>,
    is_afternoon: Option<bool>,
    minute: i64,
    second: i64,
    second_of_day: Option<i64>,
    micros: i64,
    is_west: bool,
    zone_hour: i64,
    zone_minute: i64,
}

impl TimeFields {
    /// Takes a field from the start of a text, and returns the rest.
    fn take<'t>(&mut self, text: &'t str, field: TemplateField, is_followed: bool) -> Option<&'t str> {
        let mut text = text.trim_start();
        if let TemplateField::HalfOfDay { has_points } = field {
            let words = if has_points { ["a.m.", "p.m."] } else { ["am", "pm"] };
            let is_begun = |word: &&str| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
            let half = words.iter().position(is_begun)?;
            self.is_afternoon = Some(half == 1);
            return Some(&text[words[half].len()..]);
        }
        if field == TemplateField::ZoneHour {
            self.is_west = text.starts_with('-');
            text = text.strip_prefix(['+', '-']).unwrap_or(text);
        }
        // Before another field, a number has as many digits as its word; else it may have more.
        let most = if is_followed { field.digits_max() } else { 18 };
        let length = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = text.split_at(length);
        let number: i64 = digits.parse().ok()?;
        match field {
            TemplateField::Year => self.year = number,
            TemplateField::Month => self.month = Some(number),
            TemplateField::Day => self.day = Some(number),
            TemplateField::DayOfYear => self.day_of_year = Some(number),
            TemplateField::Hour24 => self.hour = number,
            TemplateField::Hour12 => self.hour_of_half = Some(number),
            TemplateField::Minute => self.minute = number,
            TemplateField::Second => self.second = number,
            TemplateField::SecondOfDay => self.second_of_day = Some(number),
            TemplateField::Fraction(_) => self.micros = format!("{digits:0<6}").get(..6)?.parse().ok()?,
            TemplateField::ZoneHour => self.zone_hour = number,
            TemplateField::ZoneMinute => self.zone_minute = number,
            TemplateField::HalfOfDay { .. } => {}
        }
        Some(rest)
    }

    /// The time; `None` if it does not exist.
    fn time(&self, time_type: PathTimeType) -> Option<PathTime> {
        let hour = match (self.hour_of_half, self.is_afternoon) {
            (Some(hour), _) if !(1..=12).contains(&hour) => return None,
            (Some(hour), is_afternoon) => hour % 12 + if is_afternoon == Some(true) { 12 } else { 0 },
            (None, _) => self.hour,
        };
        let is_time = hour <= 23 && self.minute <= 59 && self.second <= 59;
        if !is_time || self.zone_hour > 15 || self.zone_minute > 59 {
            return None;
        }
        let of_day = self.second_of_day.unwrap_or(hour * 3_600 + self.minute * 60 + self.second);
        if of_day >= 86_400 {
            return None;
        }
        let days = match time_type {
            PathTimeType::Time | PathTimeType::TimeWithZone => 0,
            _ => self.days()?,
        };
        let ahead = self.zone_hour * 3_600 + self.zone_minute * 60;
        Some(PathTime {
            time_type,
            local_micros: days * DAY_MICROS + of_day * SECOND_MICROS + self.micros,
            ahead_seconds: if self.is_west { -ahead } else { ahead },
        })
    }

    /// The days since the epoch. Without a year it is 1 BC, which is the year 0 here.
    fn days(&self) -> Option<i64> {
        if self.year > 290_000 {
            return None;
        }
        if let Some(day) = self.day_of_year {
            let first = days_from_civil(self.year, 1, 1);
            let length = days_from_civil(self.year + 1, 1, 1) - first;
            return (1..=length).contains(&day).then_some(first + day - 1);
        }
        let month = u32::try_from(self.month.unwrap_or(1)).ok().filter(|month| (1..=12).contains(month))?;
        let day = u32::try_from(self.day.unwrap_or(1)).ok()?;
        (1..=days_in_month(self.year, month)).contains(&day).then(|| days_from_civil(self.year, month, day))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::Error;

    fn written(text: &str, template: Option<&str>) -> String {
        match read(text, template) {
            Ok(time) => time.to_string(),
            Err(failure) => Error::from(failure).message().to_owned(),
        }
    }

    /// The answers are those of PostgreSQL 15.
    #[test]
    fn strings_are_read_by_their_template() {
        for (text, template, expected) in [
            ("10-03-2017", "dd-mm-yyyy", "2017-03-10"),
            ("12:34", "HH24:MI", "12:34:00"),
            ("12:34 +05:20", "HH24:MI TZH:TZM", "12:34:00+05:20"),
            ("12:34 -05", "HH24:MI TZH", "12:34:00-05:00"),
            ("2017-03-10 12:34:56.5", "YYYY-MM-DD HH24:MI:SS.US", "2017-03-10T12:34:56.5"),
            ("10-03-2017T12:34:56", "dd-mm-yyyy\"T\"HH24:MI:SS", "2017-03-10T12:34:56"),
            ("20170310", "YYYYMMDD", "2017-03-10"),
            ("01:02 p.m.", "HH:MI P.M.", "13:02:00"),
            ("2024 060", "YYYY DDD", "2024-02-29"),
            ("10-03-2017 12:34", "dd-mm-yyyy", "trailing characters remain in input string after datetime format"),
            ("12:34", "HH24:MI TZH", "input string is too short for datetime format"),
            ("10-03-2017t12:34", "dd-mm-yyyy\"T\"HH24:MI", "unmatched format character \"T\""),
            ("10-03-2017", "dd.mm-yyyy", "unmatched format separator \".\""),
            ("aaaa", "HH24", "invalid value \"aa\" for \"HH24\""),
            ("2024-02-30", "YYYY-MM-DD", "date/time field value out of range: \"2024-02-30\""),
            ("2017-03-10 +1", "YYYY-MM-DD TZH", "datetime format is zoned but not timed"),
            ("x", "\"x\"", "datetime format is not dated and not timed"),
            ("x", "x", "invalid datetime format separator: \"x\""),
        ] {
            assert_eq!(written(text, Some(template)), expected, "{text}");
        }
    }

    #[test]
    fn strings_of_iso_8601_need_no_template() {
        for (text, expected) in [
            ("2017-03-10", "2017-03-10"),
            ("12:34:56", "12:34:56"),
            ("12:34:56 +3", "12:34:56+03:00"),
            ("12:34:56.25+03:10", "12:34:56.25+03:10"),
            ("2017-03-10 12:34:56", "2017-03-10T12:34:56"),
            ("2017-03-10T12:34:56.789", "2017-03-10T12:34:56.789"),
            ("2017-03-10 12:34:56 +3:10", "2017-03-10T12:34:56+03:10"),
            ("2017-03-10T12:34:56-03", "2017-03-10T12:34:56-03:00"),
            ("bogus", "datetime format is not recognized: \"bogus\""),
            ("12:34", "datetime format is not recognized: \"12:34\""),
        ] {
            assert_eq!(written(text, None), expected);
        }
    }
}
