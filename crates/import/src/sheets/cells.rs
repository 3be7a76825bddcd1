//! The values of cells as text, in the form that the importer reads.

use atsdb_core::time::{DAY_MILLISECONDS, days_from_civil, format_date};
use calamine::{Data, DataRef, ExcelDateTime};
use std::io::Write;

/// The first day after the last one of Excel, 9999-12-31, as a number of days in the system of 1900.
const DAYS_MAX: f64 = 2_958_466.0;

/// The result of converting a cell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CellText {
    /// The text of the cell was appended.
    Value,
    /// Nothing.
    Empty,
    /// An error, such as `#N/A`.
    Failed(String),
}

/// Appends the value of a cell. `is_1904` says that days count from 1904.
pub(crate) fn push_cell(out: &mut Vec<u8>, value: &DataRef<'_>, is_1904: bool) -> CellText {
    let start = out.len();
    match value {
        DataRef::Empty => {}
        DataRef::Int(value) => push(out, format_args!("{value}")),
        DataRef::Float(value) => push_number(out, *value),
        DataRef::Bool(value) => push(out, format_args!("{value}")),
        DataRef::String(text) => push_text(out, text),
        DataRef::SharedString(text) => push_text(out, text),
        DataRef::DateTime(time) => push_time(out, time, is_1904),
        DataRef::DateTimeIso(text) => push_text(out, text),
        DataRef::DurationIso(text) => match iso_milliseconds(text) {
            Some(milliseconds) => push_clock(out, milliseconds),
            None => push_text(out, text),
        },
        DataRef::Error(error) => return CellText::Failed(error.to_string()),
    }
    if out.len() > start { CellText::Value } else { CellText::Empty }
}

/// The same for a cell of a sheet that is held in memory.
pub(crate) fn borrowed(value: &Data) -> DataRef<'_> {
    match value {
        Data::Int(value) => DataRef::Int(*value),
        Data::Float(value) => DataRef::Float(*value),
        Data::String(text) => DataRef::SharedString(text),
        Data::Bool(value) => DataRef::Bool(*value),
        Data::DateTime(time) => DataRef::DateTime(*time),
        Data::DateTimeIso(text) => DataRef::DateTimeIso(text.clone()),
        Data::DurationIso(text) => DataRef::DurationIso(text.clone()),
        Data::Error(error) => DataRef::Error(error.clone()),
        Data::Empty => DataRef::Empty,
    }
}

/// Returns whether the text of a cell is how LibreOffice writes an error.
pub(crate) fn is_error_text(text: &str) -> bool {
    let is_code = |code: &str| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit());
    matches!(text, "#DIV/0!" | "#N/A" | "#NAME?" | "#NULL!" | "#NUM!" | "#REF!" | "#VALUE!")
        || text.strip_prefix("Err:").is_some_and(is_code)
}

fn push(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // A vector takes all that is written.
    let _ = out.write_fmt(text);
}

/// A number with the digits that it needs.
fn push_number(out: &mut Vec<u8>, value: f64) {
    if value.trunc() == value && value.abs() < 1e15 {
        push(out, format_args!("{value:.0}"));
    } else {
        push(out, format_args!("{value:?}"));
    }
}

/// A text with escapes for what would end the field or the record.
fn push_text(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\\' | b'\t' | b'\n' | b'\r')) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(match rest[at] {
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            _ => b"\\\\",
        });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// A date, a date with a time of day, a time of day alone, or a duration. A number of days that is none of these stays
/// a number. Excel is as fine as milliseconds.
fn push_time(out: &mut Vec<u8>, time: &ExcelDateTime, is_1904: bool) {
    let days = time.as_f64();
    let milliseconds = (days * DAY_MILLISECONDS as f64).round();
    if time.is_duration() && milliseconds.abs() < 1e15 {
        return push_clock(out, milliseconds as i64);
    }
    if !(0.0..DAYS_MAX).contains(&days) {
        return push_number(out, days);
    }
    let (day, clock) = (milliseconds as i64 / DAY_MILLISECONDS, milliseconds as i64 % DAY_MILLISECONDS);
    if days < 1.0 {
        return push_clock(out, milliseconds as i64);
    }
    // Excel counts a 29th of February 1900, which is number 60.
    let first_day = match day {
        _ if is_1904 => days_from_civil(1904, 1, 1),
        ..60 => days_from_civil(1899, 12, 31),
        _ => days_from_civil(1899, 12, 30),
    };
    push(out, format_args!("{}", format_date(first_day + day)));
    if clock > 0 {
        out.push(b' ');
        push_clock(out, clock);
    }
}

/// Hours, minutes and seconds, with milliseconds if there are any.
fn push_clock(out: &mut Vec<u8>, milliseconds: i64) {
    let sign = if milliseconds < 0 { "-" } else { "" };
    let (seconds, fraction) = (milliseconds.unsigned_abs() / 1_000, milliseconds.unsigned_abs() % 1_000);
    push(out, format_args!("{sign}{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60));
    if fraction > 0 {
        push(out, format_args!(".{fraction:03}"));
    }
}

/// The milliseconds of a duration such as `PT30H15M00.5S`.
fn iso_milliseconds(text: &str) -> Option<i64> {
    let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mut rest, mut milliseconds, mut is_time) = (text.strip_prefix('P')?, 0.0, false);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('T') {
            (rest, is_time) = (after, true);
            continue;
        }
        let length = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let value: f64 = rest[..length].parse().ok()?;
        milliseconds += value
            * match (rest[length..].chars().next()?, is_time) {
                ('D', false) => DAY_MILLISECONDS as f64,
                ('H', true) => 3_600_000.0,
                ('M', true) => 60_000.0,
                ('S', true) => 1_000.0,
                _ => return None,
            };
        rest = &rest[length + 1..];
    }
    let milliseconds: f64 = if is_negative { -milliseconds } else { milliseconds };
    (milliseconds.abs() < 1e15).then(|| milliseconds.round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use calamine::ExcelDateTimeType;

    fn shown(value: &DataRef<'_>, is_1904: bool) -> String {
        let mut out = Vec::new();
        assert_ne!(push_cell(&mut out, value, is_1904), CellText::Failed(String::new()));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_have_the_digits_that_they_need() {
        for (number, text) in [
            (1.0, "1"),
            (-3.0, "-3"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e15, "1000000000000000.0"),
            (1e300, "1e300"),
            (2.5e-10, "2.5e-10"),
        ] {
            assert_eq!(shown(&DataRef::Float(number), false), text);
        }
    }

    #[test]
    fn days_are_dates_of_the_system_they_count_in() {
        let time = |days: f64| DataRef::DateTime(ExcelDateTime::new(days, ExcelDateTimeType::DateTime, false));
        for (days, is_1904, text) in [
            (45_292.0, false, "2024-01-01"),
            (45_292.524_259_259_26, false, "2024-01-01 12:34:56"),
            (45_291.999_999_999_99, false, "2024-01-01"),
            (43_830.0, true, "2024-01-01"),
            (1.0, false, "1900-01-01"),
            (59.0, false, "1900-02-28"),
            (60.0, false, "1900-02-28"),
            (61.0, false, "1900-03-01"),
            (0.75, false, "18:00:00"),
            (0.0, true, "00:00:00"),
            (2_958_465.5, false, "9999-12-31 12:00:00"),
            (-1.5, false, "-1.5"),
            (3e6, false, "3000000"),
        ] {
            assert_eq!(shown(&time(days), is_1904), text, "{days}");
        }
    }

    #[test]
    fn durations_may_be_longer_than_a_day() {
        let duration = |days: f64| DataRef::DateTime(ExcelDateTime::new(days, ExcelDateTimeType::TimeDelta, false));
        assert_eq!(shown(&duration(1.260_416_666_666_67), false), "30:15:00");
        assert_eq!(shown(&duration(-0.5), false), "-12:00:00");
        for (text, wanted) in
            [("PT30H15M00.5S", "30:15:00.500"), ("P1DT2H", "26:00:00"), ("-PT1M", "-00:01:00"), ("P1Y", "P1Y")]
        {
            assert_eq!(shown(&DataRef::DurationIso(text.to_owned()), false), wanted);
        }
    }

    #[test]
    fn texts_are_escaped_and_empty_ones_are_no_value() {
        assert_eq!(shown(&DataRef::SharedString("a\tb\\c\r\nd"), false), "a\\tb\\\\c\\r\\nd");
        assert_eq!(push_cell(&mut Vec::new(), &DataRef::SharedString(""), false), CellText::Empty);
        assert!(is_error_text("Err:502") && is_error_text("#REF!") && !is_error_text("Err:x") && !is_error_text("#1"));
    }
}
