//! Literals in statements.

use datafusion::common::ScalarValue;
use std::borrow::Cow;

/// A literal as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal<'a> {
    /// NULL.
    Null,
    /// A truth value.
    Bool(bool),
    /// Digits with a sign, decimal point and exponent.
    Number(Cow<'a, str>),
    /// A number from a parameter. In a text column it is the same text, character by character.
    Parameter(Cow<'a, str>),
    /// A text.
    Text(Cow<'a, str>),
    /// Bytes.
    Bytes(Vec<u8>),
    /// The value of a parameter for which there is no literal: a time, a date, a 32-bit float.
    Typed(&'a ScalarValue),
}

impl<'a> Literal<'a> {
    /// The value of a parameter.
    pub fn of_value(value: &'a ScalarValue) -> Self {
        use ScalarValue as V;
        match value {
            value if value.is_null() => Self::Null,
            V::Boolean(Some(value)) => Self::Bool(*value),
            V::Int8(_) | V::Int16(_) | V::Int32(_) | V::Int64(_) => Self::Number(value.to_string().into()),
            V::UInt8(_) | V::UInt16(_) | V::UInt32(_) | V::UInt64(_) => Self::Number(value.to_string().into()),
            V::Float64(Some(value)) if value.is_finite() => Self::Number(format!("{value:e}").into()),
            V::Float64(Some(value)) => Self::Text(value.to_string().into()),
            V::Utf8(Some(text)) | V::LargeUtf8(Some(text)) | V::Utf8View(Some(text)) => Self::Text(text.into()),
            V::Binary(Some(bytes)) | V::LargeBinary(Some(bytes)) | V::BinaryView(Some(bytes)) => {
                Self::Bytes(bytes.clone())
            }
            other => Self::Typed(other),
        }
    }
}
