//! A value of a row.

use arrow::datatypes::IntervalMonthDayNano;
use atsdb_core::TimeUnit;

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

/// The elements of an array, one after the other.
pub trait Elements {
    /// Returns the number of values.
    fn count(&self) -> usize;

    /// The next one; the error describes what is wrong with it. Called `count` times.
    fn next_element(&mut self) -> Result<Value<'_>, String>;
}

impl Value<'_> {
    /// A time of a column with this unit, from its microseconds since 1970.
    pub fn time(microseconds: i128, unit: TimeUnit) -> Self {
        Self::Int((microseconds * i128::from(unit.per_second())).div_euclid(1_000_000))
    }
}

/// The unit of a column of times whose seconds have so many digits after the point.
pub fn time_unit(second_digits: u32) -> TimeUnit {
    match second_digits {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        _ => TimeUnit::Microsecond,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_count_the_unit_of_their_digits() {
        for (digits, count) in [(0, -2), (1, -1_001), (3, -1_001), (6, -1_000_001)] {
            assert_eq!(Value::time(-1_000_001, time_unit(digits)), Value::Int(count), "{digits} digits");
        }
    }
}
