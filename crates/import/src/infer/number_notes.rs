//! Notes about columns that are text because of how their numbers or times are written.

use crate::facts::{SampleValue, kind};
use crate::records::error::shown;
use crate::values::number_signs::sign_of;
use crate::values::times::{TimeText, parse};
use atsdb_core::time_text::{DateOrder, DateReading};

/// Characters between thousands: what a note calls them, and how SQL writes them.
const SEPARATORS: [(char, &str, &str); 5] = [
    (',', "commas", "','"),
    (' ', "blanks", "' '"),
    ('\u{a0}', "no-break spaces", "chr(160)"),
    ('\u{202f}', "narrow no-break spaces", "chr(8239)"),
    ('\'', "apostrophes", "''''"),
];

/// The note about a column of these kinds, if it is text because its numbers have separators between thousands.
pub(crate) fn thousands_note(kinds: u16, seen: &SampleValue) -> Option<String> {
    let (separator, name, sql) = SEPARATORS.iter().find(|(separator, ..)| has_thousands(&seen.value, *separator))?;
    let commas = if *separator == ',' { kind::COMMAS & !kind::COMMA } else { kind::COMMA_EITHER | kind::COMMA };
    // Blanks divide many texts, such as postcodes.
    let are_texts = *separator == ' ' && kinds == kind::TEXT;
    if are_texts || kinds & !(kind::NUMBERS | commas | kind::TEXT) != 0 {
        return None;
    }
    let (line, value) = (seen.line, shown(&seen.value));
    Some(format!(
        "its numbers have {name} between thousands: line {line} has {value}; in SQL, replace(COLUMN, {sql}, '') takes \
         them out"
    ))
}

/// The note about texts that are numbers with a percent sign, the sign of a currency, or a unit.
pub(crate) fn sign_note(seen: &SampleValue) -> Option<String> {
    let sign = sign_of(seen.value.as_bytes())?;
    let (line, value) = (seen.line, shown(&seen.value));
    let what = if sign.contains(char::is_alphabetic) { "unit" } else { "sign" };
    Some(format!(
        "its numbers have the {what} {sign}: line {line} has {value}; in SQL, replace(COLUMN, '{sign}', '') takes it \
         out"
    ))
}

/// Returns whether a text is a number with this character between its thousands: `12,345,678`, `1,234.5`, `1 234,5`.
fn has_thousands(text: &str, separator: char) -> bool {
    let number = text.trim().trim_start_matches(['-', '+']);
    let is_point = |character: char| character == '.' || (character == ',' && separator != ',');
    let (whole, fraction) = number.split_once(is_point).unwrap_or((number, "0"));
    let are_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let mut groups = whole.split(separator);
    let is_first = groups.next().is_some_and(|group| are_digits(group) && group.len() <= 3);
    let are_rest = groups.clone().all(|group| are_digits(group) && group.len() == 3);
    is_first && groups.count() > 0 && are_rest && are_digits(fraction)
}

/// The note about a text that is a time with the name of a zone after it.
pub(crate) fn zone_note(seen: &SampleValue) -> Option<String> {
    let zone = zone_of(&seen.value)?;
    let (line, value) = (seen.line, shown(&seen.value));
    Some(format!(
        "its times name the zone {zone}, which is not read: line {line} has {value}; write UTC, an offset such as \
         +01:00 or a name such as Europe/Berlin, or leave the name out and pass --zone"
    ))
}

/// Abbreviations of zones that are not read, because some of them have several meanings.
const ABBREVIATIONS: [&str; 35] = [
    "ACDT", "ACST", "AEDT", "AEST", "AKDT", "AKST", "AST", "AWST", "BST", "CDT", "CEST", "CET", "CST", "EDT", "EEST",
    "EET", "EST", "HKT", "HST", "IST", "JST", "KST", "MDT", "MESZ", "MEZ", "MSK", "MST", "NZDT", "NZST", "PDT", "PST",
    "SAST", "SGT", "WEST", "WET",
];

/// The name of a zone that is not read, behind a time: `2024-03-01 12:30 CET`, `2024-03-01 12:30 GMT+1`.
pub(crate) fn zone_of(text: &str) -> Option<&str> {
    let (time, zone) = text.trim().rsplit_once(' ')?;
    let is_offset = |start: &str| zone.strip_prefix(start).is_some_and(|rest| rest.starts_with(['+', '-']));
    let is_zone = ABBREVIATIONS.contains(&zone) || is_offset("GMT") || is_offset("UTC");
    (is_zone && time_in(time).is_some_and(|time| !time.is_date)).then_some(zone)
}

/// The time that a text is, whichever of day and month is first.
fn time_in(text: &str) -> Option<TimeText> {
    let in_order = |order| parse(text.trim().as_bytes(), DateReading { order: Some(order), until: None });
    in_order(DateOrder::DayFirst).or_else(|| in_order(DateOrder::MonthFirst))
}

/// The note about a text that is two times, from one to the other.
pub(crate) fn range_note(seen: &SampleValue) -> Option<String> {
    let start = range_start(&seen.value)?;
    let (line, value) = (seen.line, shown(&seen.value));
    Some(format!("its values are ranges of times: line {line} has {value}; in SQL, {start} is the start"))
}

/// The SQL of the start of a range of times: `2024-03-01 00:00 - 2024-03-01 01:00`.
pub(crate) fn range_start(text: &str) -> Option<String> {
    let is_between = |sign: &&str| {
        text.split_once(*sign).is_some_and(|(start, end)| time_in(start).is_some() && time_in(end).is_some())
    };
    let sign = [" - ", " – ", "/"].into_iter().find(is_between)?;
    let start = format!("split_part(COLUMN, '{sign}', 1)");
    // A cast reads the month first where the year is last.
    Some(match text.trim_start().as_bytes() {
        [b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', ..] => format!("CAST({start} AS TIMESTAMP)"),
        [_, b'.', ..] | [_, _, b'.', ..] => format!("to_timestamp({start}, 'DD.MM.YYYY HH24:MI')"),
        _ => format!("to_timestamp({start}, 'PATTERN')"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_separators_between_thousands_are_known() {
        for (text, separator) in
            [("12,345,678", ','), ("-1,234.5", ','), ("1 234,5", ' '), ("1\u{a0}234", '\u{a0}'), ("1'234.50", '\'')]
        {
            assert!(has_thousands(text, separator), "{text}");
        }
        for (text, separator) in
            [("1,2,3", ','), ("1234,567.8", ','), ("1 234 5", ' '), ("a 123", ' '), ("1,234,5", ',')]
        {
            assert!(!has_thousands(text, separator), "{text}");
        }
    }

    #[test]
    fn ranges_of_times_are_known() {
        for (text, sql) in [
            ("01.03.2024 00:00 - 01.03.2024 01:00", "to_timestamp(split_part(COLUMN, ' - ', 1), 'DD.MM.YYYY HH24:MI')"),
            ("03/13/2024 00:00 – 03/13/2024 01:00", "to_timestamp(split_part(COLUMN, ' – ', 1), 'PATTERN')"),
            ("2024-03-01T00:00Z/2024-03-01T01:00Z", "CAST(split_part(COLUMN, '/', 1) AS TIMESTAMP)"),
        ] {
            assert_eq!(range_start(text).as_deref(), Some(sql), "{text}");
        }
        for text in ["2024-03-01 - open", "01/03/2024", "a - b", "2024-03-01 12:30"] {
            assert_eq!(range_start(text), None, "{text}");
        }
    }

    #[test]
    fn zones_behind_times_are_known() {
        for (text, zone) in [
            ("2024-03-01 12:30 CET", Some("CET")),
            ("2024-03-01T12:30:05 Europe/Berlin", None),
            ("01.03.2024 12:30:05 CEST", Some("CEST")),
            ("2024-03-01 12:30 GMT+1", Some("GMT+1")),
            ("2024-03-01 CET", None),
            ("2024-03-01 12:30 ERROR", None),
            ("at noon CET", None),
        ] {
            assert_eq!(zone_of(text), zone, "{text}");
        }
    }
}
