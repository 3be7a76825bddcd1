//! Values as text, in PostgreSQL's format.

use super::cells::{Cell, Cells};
use super::known;
use crate::pg::error::PgError;
use arrow::array::{Array, ArrayRef};
use atsdb::interval_text::interval_text;
use atsdb::{array_text, calendar_text};
use std::fmt::Write;

/// The value as text; `None` for NULL. Times beyond the range of PostgreSQL's types are formatted, too.
pub(in crate::pg) fn of(type_id: u32, cell: &Cell<'_>) -> Option<String> {
    let mut out = Vec::new();
    match push(&mut out, type_id, cell) {
        Ok(true) => Some(String::from_utf8_lossy(&out).into_owned()),
        Ok(false) | Err(_) => None,
    }
}

/// Appends the value. Returns `false` for NULL, for which nothing is appended.
pub(in crate::pg) fn push(out: &mut Vec<u8>, type_id: u32, cell: &Cell<'_>) -> Result<bool, PgError> {
    match cell {
        Cell::Null => return Ok(false),
        Cell::Bool(value) => out.push(if *value { b't' } else { b'f' }),
        Cell::Int(value) => {
            let mut digits = String::new();
            let _ = write!(digits, "{value}");
            out.extend(digits.as_bytes());
        }
        Cell::Float32(value) => out.extend(float32(*value).as_bytes()),
        Cell::Float64(value) => out.extend(float64(*value).as_bytes()),
        Cell::Numeric(digits) => out.extend(digits.as_bytes()),
        Cell::Text(text) | Cell::Named(_, text) => out.extend(text.as_bytes()),
        Cell::Json(text) | Cell::Record(text) => out.extend(text.as_bytes()),
        Cell::Bytes(bytes) => {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            out.extend(b"\\x");
            out.extend(bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| DIGITS[usize::from(digit)]));
        }
        Cell::Date(days) => out.extend(calendar_text::date(*days).as_bytes()),
        Cell::Time(microseconds) => out.extend(calendar_text::time(*microseconds).as_bytes()),
        Cell::Timestamp(Some(microseconds)) => {
            out.extend(calendar_text::timestamp(*microseconds, type_id != known::TIMESTAMP).as_bytes());
        }
        Cell::Timestamp(None) => return Err(out_of_range()),
        Cell::Interval { months, days, microseconds } => {
            out.extend(interval_text(*months, *days, microseconds.saturating_mul(1_000)).as_bytes());
        }
        Cell::List(element, list) => {
            out.extend(array(known::element_of(type_id).map_or(*element, |known| known.id), list).as_bytes());
        }
        Cell::Items(items) => {
            let (element, first) = known::elements_of(type_id).unwrap_or((known::TEXT, 1));
            let items = items.iter().map(|item| of(element, item));
            // A vector has spaces between its elements.
            let text = match first {
                0 => items.flatten().collect::<Vec<_>>().join(" "),
                _ => array_text::format(items),
            };
            out.extend(text.as_bytes());
        }
    }
    Ok(true)
}

/// `{1,NULL,"a b"}`, and `{{1,2},{3,4}}` for an array of arrays. `{}` has no dimension, and no elements that are empty.
fn array(element: u32, list: &ArrayRef) -> String {
    let cells = Cells::new(list);
    let items = (0..list.len()).map(|row| match cells.get(row) {
        Cell::Null => None,
        cell => Some(of(element, &cell).unwrap_or_default()),
    });
    if !list.data_type().is_nested() {
        return array_text::format(items);
    }
    let parts: Vec<String> = items.map(|item| item.unwrap_or_else(|| "NULL".to_owned())).collect();
    if parts.iter().all(|part| part == "{}") { "{}".to_owned() } else { format!("{{{}}}", parts.join(",")) }
}

/// The error for a time that does not fit 64 bits in microseconds.
pub(in crate::pg) fn out_of_range() -> PgError {
    PgError::error("22008", "timestamp out of range").with_hint("read it as text: CAST(time AS TEXT)")
}

/// The shortest digits that yield the same number, with an exponent from 1e15 on and below 1e-4.
pub(in crate::pg) fn float64(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        _ if value.is_infinite() => if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        _ => shortest(&format!("{value:e}"), 15),
    }
}

/// Like [`float64`], for single precision, where the exponent begins at 1e6.
pub(in crate::pg) fn float32(value: f32) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        _ if value.is_infinite() => if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        _ => shortest(&format!("{value:e}"), 6),
    }
}

/// `1.5e3` as `1500`, `1e20` as `1e+20`.
fn shortest(scientific: &str, exponent_max: i32) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    if !(-4..exponent_max).contains(&exponent) {
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{mantissa}e{exponent_sign}{:02}", exponent.abs());
    }
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let whole = exponent + 1;
    match usize::try_from(whole) {
        Ok(whole) if whole >= digits.len() => format!("{sign}{digits:0<whole$}"),
        Ok(whole) if whole > 0 => format!("{sign}{}.{}", &digits[..whole], &digits[whole..]),
        _ => format!("{sign}0.{}{digits}", "0".repeat(whole.unsigned_abs() as usize)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_postgresql_does() {
        let pairs = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (-1.5e300, "-1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123.456, "123.456"),
            (f64::INFINITY, "Infinity"),
            (5e-324, "5e-324"),
        ];
        for (value, text) in pairs {
            assert_eq!(float64(value), text);
        }
        assert_eq!((float32(123_456.0), float32(1_234_567.0)), ("123456".to_owned(), "1.234567e+06".to_owned()));
    }

    #[test]
    fn bytes_are_hexadecimal() {
        assert_eq!(of(known::BYTEA, &Cell::Bytes(&[0, 0xab, 255])).unwrap(), "\\x00abff");
    }
}
