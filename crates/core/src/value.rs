//! A single value outside of any array: a column's default, or an operand of a comparison.

use serde::{Deserialize, Serialize};

/// One value that is not NULL.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// A signed integer, a timestamp in the column's unit, or a date in days.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A floating point number.
    Float(#[serde(with = "float_text")] f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// true or false.
    Bool(bool),
}

/// The number that a REAL column holds for this one: the nearest of 32 bits.
pub fn nearest_real(number: f64) -> f32 {
    number as f32
}

/// Floating point numbers are equal when their bits are.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::UInt(a), Self::UInt(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

/// Floating point numbers as text: the shortest form that yields the same bits. JSON numbers have no NaN and no
/// infinities, and JSON parsers may round.
mod float_text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    /// The prefix of the bits of a NaN.
    const NAN: &str = "NaN ";

    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        match value.is_nan() {
            true => serializer.collect_str(&format_args!("{NAN}{:016x}", value.to_bits())),
            false => serializer.collect_str(&format_args!("{value:?}")),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.strip_prefix(NAN) {
            Some(bits) => u64::from_str_radix(bits, 16).map(f64::from_bits).map_err(D::Error::custom),
            None => text.parse().map_err(D::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Value;

    #[test]
    fn values_come_back_from_json_bit_for_bit() {
        let floats = [0.0, -0.0, 0.1, 1.0 / 3.0, 5e-324, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]
            .into_iter()
            .chain([0x7ff8_0000_dead_beef, 0xfff0_0000_0000_0001, 0x3fb9_9999_9999_999b].map(f64::from_bits));
        let others = [
            Value::Int(i64::MIN),
            Value::UInt(u64::MAX),
            Value::Text("a\0\"é".to_owned()),
            Value::Bytes(vec![0, 255]),
            Value::Bool(true),
        ];
        for value in floats.map(Value::Float).chain(others) {
            let json = serde_json::to_string(&value).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), value, "{json}");
        }
        for wrong in [r#"{"float":1.5}"#, r#"{"float":"NaN 5g"}"#, r#"{"float":"x"}"#, r#"{"decimal":"1"}"#] {
            assert!(serde_json::from_str::<Value>(wrong).is_err(), "{wrong}");
        }
    }
}
