//! The values that queries about the catalogue compute.

use crate::pg::types::cells::Cell;
use crate::pg::types::{known, text};
use atsdb::interval_text::interval_text;
use atsdb::time::DAY_MICROSECONDS;
use atsdb::{array_text, calendar_text, decimal};
use std::cmp::Ordering;

/// The maximum number of digits of a number.
pub(super) const DIGITS_MAX: u8 = 38;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::pg) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// A number with all its digits.
    Numeric(String),
    Text(String),
    Array(Vec<Value>),
    Record(Vec<Value>),
    /// A date: days since 1970.
    Date(i64),
    /// A time: microseconds since 1970, UTC.
    Time(i64),
    /// A length of time in microseconds.
    Interval(i64),
    /// An object that is written by its name, of type `regclass` or similar: its number and its name.
    Named(i64, String),
}

impl Value {
    pub(in crate::pg) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(in crate::pg) fn maybe<T: Into<Self>>(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }

    pub(in crate::pg) fn is_null(&self) -> bool {
        *self == Self::Null
    }

    /// The value as text; `None` is NULL.
    pub(in crate::pg) fn shown(&self) -> Option<String> {
        Some(match self {
            Self::Null => return None,
            Self::Bool(value) => if *value { "true" } else { "false" }.to_owned(),
            Self::Int(value) => value.to_string(),
            Self::Float(value) => text::float64(*value),
            Self::Text(text) | Self::Named(_, text) | Self::Numeric(text) => text.clone(),
            Self::Date(days) => calendar_text::date(*days),
            Self::Time(microseconds) => calendar_text::timestamp(*microseconds, true),
            Self::Interval(microseconds) => interval_text(0, 0, microseconds.saturating_mul(1_000)),
            Self::Array(items) => array_text::format(items.iter().map(Self::element_text)),
            Self::Record(items) => {
                let items: Vec<String> = items.iter().map(|item| item.element_text().unwrap_or_default()).collect();
                format!("({})", items.join(","))
            }
        })
    }

    /// The value as text inside arrays and records, where a boolean is one letter.
    fn element_text(&self) -> Option<String> {
        match self {
            Self::Bool(value) => Some(if *value { "t" } else { "f" }.to_owned()),
            other => other.shown(),
        }
    }

    /// An integer, or the number of an object.
    pub(in crate::pg) fn int(&self) -> Option<i64> {
        match self {
            Self::Int(value) | Self::Named(value, _) => Some(*value),
            Self::Float(value) => Some(*value as i64),
            Self::Numeric(digits) => rounded(digits),
            Self::Bool(value) => Some(i64::from(*value)),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// Returns whether a condition is true. NULL is not.
    pub(in crate::pg) fn is_true(&self) -> bool {
        *self == Self::Bool(true)
    }

    /// Converts the value for a column of this type.
    pub(in crate::pg) fn cell(&self, type_id: u32) -> Cell<'_> {
        match self {
            Self::Null => Cell::Null,
            Self::Bool(value) => Cell::Bool(*value),
            Self::Int(_) | Self::Float(_) | Self::Numeric(_) => self.number_cell(type_id),
            Self::Text(text) => Cell::Text(text),
            Self::Date(days) => Cell::Date(*days),
            Self::Time(microseconds) => Cell::Timestamp(Some(*microseconds)),
            Self::Interval(microseconds) => Cell::Interval { months: 0, days: 0, microseconds: *microseconds },
            Self::Named(number, name) => Cell::Named(*number, name),
            Self::Array(items) => {
                let (element, _) = known::elements_of(type_id).unwrap_or((known::TEXT, 1));
                Cell::Items(items.iter().map(|item| item.cell(element)).collect())
            }
            Self::Record(_) => Cell::Record(self.shown().unwrap_or_default()),
        }
    }

    /// Converts a number for a column of this type, which CASE may give a number of another type.
    fn number_cell(&self, type_id: u32) -> Cell<'static> {
        let float = self.float().unwrap_or_default();
        match (self, type_id) {
            (_, known::FLOAT8) => Cell::Float64(float),
            (_, known::FLOAT4) => Cell::Float32(float as f32),
            // Digits without an exponent.
            (Self::Float(value), known::NUMERIC) if value.is_finite() => Cell::Numeric(value.to_string()),
            (_, known::NUMERIC) => Cell::Numeric(self.shown().unwrap_or_default()),
            (Self::Int(value), _) => Cell::Int(*value),
            (Self::Float(value), _) => Cell::Float64(*value),
            _ => Cell::Numeric(self.shown().unwrap_or_default()),
        }
    }

    /// Compares two values. Returns `None` if one is NULL or their types cannot be compared.
    pub(in crate::pg) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Null, _) | (_, Self::Null) => None,
            (Self::Bool(one), Self::Bool(two)) => Some(one.cmp(two)),
            (Self::Bool(one), Self::Text(two)) => Some(one.cmp(&["t", "true", "on", "1"].contains(&two.as_str()))),
            (Self::Text(_), Self::Bool(_)) => other.compare(self).map(Ordering::reverse),
            (Self::Float(one), _) => one.partial_cmp(&other.float()?),
            (_, Self::Float(two)) => self.float()?.partial_cmp(two),
            (Self::Numeric(_), _) | (_, Self::Numeric(_)) => {
                compare_digits(self, other).or_else(|| self.float()?.partial_cmp(&other.float()?))
            }
            (Self::Time(one), Self::Time(two))
            | (Self::Interval(one), Self::Interval(two))
            | (Self::Date(one), Self::Date(two)) => Some(one.cmp(two)),
            (Self::Date(days), Self::Time(time)) => Some(days.saturating_mul(DAY_MICROSECONDS).cmp(time)),
            (Self::Time(_), Self::Date(_)) => other.compare(self).map(Ordering::reverse),
            (Self::Text(one), Self::Text(two)) => Some(one.as_str().cmp(two)),
            (Self::Named(_, one), Self::Text(two)) if two.parse::<i64>().is_err() => Some(one.as_str().cmp(two)),
            (Self::Text(one), Self::Named(_, two)) if one.parse::<i64>().is_err() => Some(one.as_str().cmp(two)),
            (Self::Array(one), Self::Array(two)) | (Self::Record(one), Self::Record(two)) => {
                for (one, two) in one.iter().zip(two) {
                    match one.compare(two) {
                        Some(Ordering::Equal) => {}
                        unequal => return unequal,
                    }
                }
                Some(one.len().cmp(&two.len()))
            }
            _ => match (self.int(), other.int()) {
                (Some(one), Some(two)) => Some(one.cmp(&two)),
                _ => Some(self.shown()?.cmp(&other.shown()?)),
            },
        }
    }

    pub(in crate::pg) fn float(&self) -> Option<f64> {
        match self {
            Self::Float(value) => Some(*value),
            Self::Text(text) | Self::Numeric(text) => text.trim().parse().ok(),
            other => other.int().map(|value| value as f64),
        }
    }
}

/// A text that is the same for equal rows: 1.50 is 1.5.
pub(in crate::pg) fn key_of(row: &[Value]) -> String {
    let plain = |value: &Value| match value {
        Value::Numeric(digits) if digits.contains('.') => {
            Value::Numeric(digits.trim_end_matches('0').trim_end_matches('.').to_owned())
        }
        Value::Int(value) => Value::Numeric(value.to_string()),
        other => other.clone(),
    };
    format!("{:?}", row.iter().map(plain).collect::<Vec<_>>())
}

/// The nearest integer to a number; half of one is rounded away from zero. `None` if it does not fit.
fn rounded(digits: &str) -> Option<i64> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let away = i64::from(fraction.starts_with(['5', '6', '7', '8', '9']));
    let whole: i64 = if matches!(whole, "" | "-") { 0 } else { whole.parse().ok()? };
    if digits.starts_with('-') { whole.checked_sub(away) } else { whole.checked_add(away) }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// Compares two numbers by their digits. `None` if one is not a number, or has too many digits.
fn compare_digits(one: &Value, other: &Value) -> Option<Ordering> {
    let (one, other) = (one.shown()?, other.shown()?);
    let places = |text: &str| text.split_once('.').map_or(0, |(_, places)| places.len());
    let scale = u8::try_from(places(&one).max(places(&other))).ok()?;
    let exact = |text: &str| decimal::parse(text, DIGITS_MAX, scale);
    Some(exact(&one)?.cmp(&exact(&other)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_with_all_their_digits() {
        let number = |digits: &str| Value::Numeric(digits.to_owned());
        let compared = number("12345678901234567890").compare(&number("12345678901234567891"));
        assert_eq!(compared, Some(Ordering::Less));
        assert_eq!(Value::Int(9_007_199_254_740_993).compare(&number("9007199254740992.5")), Some(Ordering::Greater));
        assert_eq!(number("1.50").compare(&number("1.5")), Some(Ordering::Equal));
    }

    #[test]
    fn dates_are_compared_with_times() {
        let (day, noon) = (Value::Date(1), Value::Time(DAY_MICROSECONDS + DAY_MICROSECONDS / 2));
        assert_eq!((day.compare(&noon), noon.compare(&day)), (Some(Ordering::Less), Some(Ordering::Greater)));
        assert_eq!((day.compare(&Value::Date(1)), day.shown()), (Some(Ordering::Equal), Some("1970-01-02".to_owned())));
    }

    #[test]
    fn numbers_with_digits_round_away_from_zero() {
        for (digits, expected) in [
            ("2.50", Some(3)),
            ("2.49", Some(2)),
            ("-2.5", Some(-3)),
            ("-0.5", Some(-1)),
            ("9007199254740993", Some(9_007_199_254_740_993)),
            ("12345678901234567890", None),
        ] {
            assert_eq!(Value::Numeric(digits.to_owned()).int(), expected, "{digits}");
        }
    }

    #[test]
    fn equal_numbers_have_the_same_key() {
        let key = |digits: &str| key_of(&[Value::Numeric(digits.to_owned())]);
        assert_eq!(key("1.50"), key("1.5"));
        assert_eq!(key("10.00"), key_of(&[Value::Int(10)]));
        assert_ne!(key("10"), key("1"));
    }
}
