//! Parses the strings that `.datetime()` converts: in the forms of ISO 8601, or by a template of PostgreSQL's patterns.
//! A separator in a template matches only itself, and a template must match the whole string.

use super::path_failures::PathFailure;
use super::path_times::{PathTime, PathTimeType};
use crate::functions::times::time_fields::TimeFields;
use crate::functions::times::time_pattern::{PatternField, PatternPiece, TimeField, pieces_of};
use atsdb_core::time::DAY_MICROSECONDS;
use std::sync::LazyLock;

type Result<T> = std::result::Result<T, PathFailure>;

/// The separators that a template may have outside of quotes.
const SEPARATORS: &str = "-./,':; ";

/// The fields by which no text is read.
const UNREAD: [TimeField; 5] =
    [TimeField::Zone, TimeField::ZoneOffset, TimeField::IsoDayOfYear, TimeField::WeekOfMonth, TimeField::Century];

/// The templates that are tried without one, in this order.
static STANDARD: LazyLock<Vec<Vec<PatternPiece>>> = LazyLock::new(|| {
    let zones = ["TZH:TZM", "TZH", ""];
    let times =
        || zones.into_iter().flat_map(|zone| ["HH24:MI:SS.US", "HH24:MI:SS"].map(|time| format!("{time}{zone}")));
    let with_date = |separator: &'static str| times().map(move |time| format!("YYYY-MM-DD{separator}{time}"));
    let templates = std::iter::once("YYYY-MM-DD".to_owned());
    let templates = templates.chain(times()).chain(with_date(" ")).chain(with_date("\"T\""));
    templates.map(|template| pieces_of(&template)).collect()
});

/// Reads a string by a template; without one, in any of the forms of ISO 8601.
pub(super) fn read(text: &str, template: Option<&str>) -> Result<PathTime> {
    if let Some(template) = template {
        return read_pieces(text, &template_pieces(template)?);
    }
    let mut times = STANDARD.iter().filter_map(|pieces| read_pieces(text, pieces).ok());
    times.next().ok_or_else(|| PathFailure::no_datetime_format(text))
}

/// Takes a template apart.
fn template_pieces(template: &str) -> Result<Vec<PatternPiece>> {
    let pieces = pieces_of(template);
    for piece in &pieces {
        match piece {
            PatternPiece::Other(separator) if !SEPARATORS.contains(*separator) => {
                return Err(PathFailure::wrong_separator(*separator));
            }
            PatternPiece::Field(PatternField { field, .. }) if UNREAD.contains(field) => {
                return Err(PathFailure::unread_field(field.word()));
            }
            _ => {}
        }
    }
    Ok(pieces)
}

fn read_pieces(text: &str, pieces: &[PatternPiece]) -> Result<PathTime> {
    let mut fields = TimeFields::default();
    let mut rest = text;
    for (at, piece) in pieces.iter().enumerate() {
        if rest.is_empty() {
            return Err(PathFailure::wrong_datetime("input string is too short for datetime format"));
        }
        rest = match piece {
            PatternPiece::Field(pattern) => {
                let start = rest.trim_start();
                let is_followed = matches!(pieces.get(at + 1), Some(PatternPiece::Field(_)));
                fields.take(start, *pattern, is_followed).ok_or_else(|| {
                    let (field, start) = (pattern.field, start.chars().take(pattern.field.digits_max()));
                    PathFailure::wrong_datetime(format!(
                        "invalid value \"{}\" for \"{}\"",
                        start.collect::<String>(),
                        field.word()
                    ))
                })?
            }
            PatternPiece::Other(separator) => rest
                .strip_prefix(*separator)
                .ok_or_else(|| PathFailure::wrong_datetime(format!("unmatched format separator \"{separator}\"")))?,
            PatternPiece::Quoted(quoted) => rest
                .strip_prefix(quoted.as_str())
                .ok_or_else(|| PathFailure::wrong_datetime(format!("unmatched format character \"{quoted}\"")))?,
        };
    }
    if !rest.is_empty() {
        return Err(PathFailure::wrong_datetime("trailing characters remain in input string after datetime format"));
    }
    let time_type = type_of(pieces)?;
    time_of(&fields, time_type)
        .ok_or_else(|| PathFailure::wrong_datetime(format!("date/time field value out of range: \"{text}\"")))
}

/// The type of what a template reads.
fn type_of(pieces: &[PatternPiece]) -> Result<PathTimeType> {
    let has = |is_it: fn(TimeField) -> bool| {
        pieces.iter().any(|piece| matches!(piece, PatternPiece::Field(PatternField { field, .. }) if is_it(*field)))
    };
    let has_zone = has(TimeField::is_of_zone);
    let has_date = has(|field| !field.is_of_time() && !field.is_of_zone());
    PathTimeType::of_parts(has_date, has(TimeField::is_of_time), has_zone).ok_or_else(|| {
        let problem = if has_zone { "is zoned but not timed" } else { "is not dated and not timed" };
        PathFailure::wrong_datetime(format!("datetime format {problem}"))
    })
}

/// The time of some fields; `None` if it does not exist.
fn time_of(fields: &TimeFields, time_type: PathTimeType) -> Option<PathTime> {
    let days = match time_type {
        PathTimeType::Time | PathTimeType::TimeWithZone => 0,
        _ => fields.days()?,
    };
    let local_micros = days.checked_mul(DAY_MICROSECONDS)?.checked_add(fields.micros_of_day()?)?;
    Some(PathTime { time_type, local_micros, ahead_seconds: fields.ahead_seconds()? })
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
            ("3rd Mar 2024", "DDth Mon YYYY", "2024-03-03"),
            ("12:00 +00", "HH24:MI OF", "formatting field \"OF\" is only supported in to_char"),
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
