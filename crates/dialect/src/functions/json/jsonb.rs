//! JSON as PostgreSQL's `jsonb` has it: keys by length, then by their bytes, the last value of each key, one space
//! behind commas and colons, numbers without exponents, and strings with as few escapes as possible.

use atsdb_core::json_text::{as_text, elements, kind, members, quoted};
use atsdb_core::{Error, Result};
use std::collections::BTreeMap;

/// A value as `jsonb` has it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    /// The members by the length of their keys, then by their bytes.
    Object(BTreeMap<(usize, String), Json>),
    Array(Vec<Json>),
    /// Any other value, as text.
    Scalar(String),
}

impl Json {
    /// A checked text. Numbers that `numeric` does not have are refused, as PostgreSQL's `jsonb` refuses them.
    pub(super) fn read(json: &str) -> Result<Self> {
        let read = Self::of(json);
        read.refuse_numbers()?;
        Ok(read)
    }

    fn refuse_numbers(&self) -> Result<()> {
        match self {
            Self::Object(members) => members.values().try_for_each(Self::refuse_numbers),
            Self::Array(elements) => elements.iter().try_for_each(Self::refuse_numbers),
            Self::Scalar(text) if kind(text) == "number" && !is_numeric(text) => {
                let error = Error::invalid("value overflows numeric format");
                let maximum = format!("{WHOLE_DIGITS_MAX} digits before the point and {SCALE_MAX} after it");
                Err(error.with_hint(format!("numbers have at most {maximum}")))
            }
            Self::Scalar(_) => Ok(()),
        }
    }

    /// A checked text.
    pub(super) fn of(json: &str) -> Self {
        if let Some(members) = members(json) {
            let member = |(key, value): (&str, &str)| {
                let key = as_text(key).unwrap_or_default().into_owned();
                ((key.len(), key), Self::of(value))
            };
            return Self::Object(members.map(member).collect());
        }
        if let Some(elements) = elements(json) {
            return Self::Array(elements.map(Self::of).collect());
        }
        match (kind(json), as_text(json)) {
            ("string", Some(text)) => Self::Scalar(quoted(&text)),
            ("number", _) => Self::Scalar(plain_number(json.trim())),
            _ => Self::Scalar(json.trim().to_owned()),
        }
    }
}

/// The text of a [checked](atsdb_core::json_text::check) value in this form.
pub(super) fn normalized(json: &str) -> String {
    written(&Json::of(json), None)
}

/// The text of a value: in one line, or with a line for each part, indented by a level.
pub(super) fn written(json: &Json, level: Option<usize>) -> String {
    let parts: Vec<String> = match json {
        Json::Scalar(text) => return text.clone(),
        Json::Array(items) => items.iter().map(|item| written(item, level.map(|level| level + 1))).collect(),
        Json::Object(members) => {
            let member = |((_, key), value): (&(usize, String), &Json)| {
                format!("{}: {}", quoted(key), written(value, level.map(|level| level + 1)))
            };
            members.iter().map(member).collect()
        }
    };
    let (opening, closing) = if matches!(json, Json::Array(_)) { ('[', ']') } else { ('{', '}') };
    let Some(level) = level else { return format!("{opening}{}{closing}", parts.join(", ")) };
    let line = |level: usize| format!("\n{}", "    ".repeat(level));
    let inner: Vec<String> = parts.iter().map(|part| format!("{}{part}", line(level + 1))).collect();
    format!("{opening}{}{}{closing}", inner.join(","), line(level))
}

/// The maximum number of digits of `numeric` before the point.
const WHOLE_DIGITS_MAX: i64 = 131_072;

/// The maximum number of digits of `numeric` after the point.
const SCALE_MAX: i64 = 16_383;

/// Returns whether a number fits into the range of `numeric`.
fn is_numeric(number: &str) -> bool {
    let may_be_long = number.len() > 16_383 || number.contains(['e', 'E']);
    let fits = |parts: NumberParts| parts.power < WHOLE_DIGITS_MAX && parts.scale <= SCALE_MAX;
    !may_be_long || NumberParts::of(number.trim_start_matches('-')).is_some_and(fits)
}

/// The parts of a number with or without an exponent.
pub(super) struct NumberParts {
    /// The power of ten that its first digit counts; zero has the least one.
    pub(super) power: i64,
    /// The digits without zeros before and after them.
    pub(super) digits: String,
    /// The number of digits after the point.
    scale: i64,
}

impl NumberParts {
    /// The parts of a number without a sign; `None` if its exponent has more than 32 bits.
    pub(super) fn of(number: &str) -> Option<Self> {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent = i64::from(exponent.parse::<i32>().ok()?);
        let length = |digits: &str| i64::try_from(digits.len()).ok();
        let written = format!("{whole}{fraction}");
        let digits = written.trim_start_matches('0');
        let power = length(whole)? - 1 - (length(&written)? - length(digits)?) + exponent;
        Some(Self {
            power: if digits.is_empty() { i64::MIN } else { power },
            digits: digits.trim_end_matches('0').to_owned(),
            scale: (length(fraction)? - exponent).max(0),
        })
    }
}

/// A number without an exponent, which moves its point, and zero without a sign. One that would become very long stays.
fn plain_number(json: &str) -> String {
    const DIGITS_MAX: usize = 16_383;
    let (sign, unsigned) = json.strip_prefix('-').map_or(("", json), |unsigned| ("-", unsigned));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let Ok(exponent) = exponent.parse::<isize>() else { return json.to_owned() };
    if exponent.unsigned_abs() > DIGITS_MAX {
        let is_zero = exponent > 0 && mantissa.bytes().all(|digit| matches!(digit, b'0' | b'.'));
        return if is_zero { "0".to_owned() } else { json.to_owned() };
    }
    // Zeros before or after the digits, so that the point can move.
    let zeros = "0".repeat(exponent.unsigned_abs());
    let (digits, point) = if exponent < 0 {
        (format!("{zeros}{whole}{fraction}"), whole.len())
    } else {
        let missing = &zeros[zeros.len().min(fraction.len())..];
        (format!("{whole}{fraction}{missing}"), whole.len() + zeros.len())
    };
    let (whole, fraction) = digits.split_at(point);
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let sign = if digits.bytes().all(|digit| digit == b'0') { "" } else { sign };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_numeric_does_not_have_are_refused() {
        for json in ["1e131071", "-9.5e131071", "0e200000", "1e-16383", "[0.1e-16382]", r#"{"a": 12}"#, "0.5E+3"] {
            assert!(Json::read(json).is_ok(), "{json}");
        }
        for json in ["1e131072", "[10e131071]", "1e-16384", r#"{"a": 0e-16384}"#, "1.5e-16383", "1e99999999999"] {
            assert_eq!(Json::read(json).unwrap_err().message(), "value overflows numeric format", "{json}");
        }
        assert!(Json::read(&"9".repeat(131_072)).is_ok() && Json::read(&"9".repeat(131_073)).is_err());
        assert_eq!(Json::of("-0.00e20000"), Json::Scalar("0".to_owned()));
    }
}
