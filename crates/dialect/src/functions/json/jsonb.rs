//! JSON as PostgreSQL's `jsonb` has it: keys by length, then by their bytes, the last value of each key, one space
//! behind commas and colons, numbers without exponents, and strings with as few escapes as possible.

use atsdb_core::json_text::{as_text, elements, kind, members, quoted};
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

/// A number without an exponent, which moves its point, and zero without a sign. One with more digits than PostgreSQL
/// has stays.
fn plain_number(json: &str) -> String {
    const DIGITS_MAX: usize = 16_383;
    let (sign, unsigned) = json.strip_prefix('-').map_or(("", json), |unsigned| ("-", unsigned));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let Ok(exponent) = exponent.parse::<isize>() else { return json.to_owned() };
    if exponent.unsigned_abs() > DIGITS_MAX {
        return json.to_owned();
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
