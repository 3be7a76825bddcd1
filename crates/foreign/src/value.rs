//! A value of a row.

use arrow::datatypes::IntervalMonthDayNano;

/// A value on its way into an array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer of any width, the digits of a decimal, or the count of a time's units since 1970 or since midnight.
    Int(i128),
    /// A number with floating point.
    Float(f64),
    /// A text, a UUID or JSON.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A length of time.
    Interval(IntervalMonthDayNano),
}
