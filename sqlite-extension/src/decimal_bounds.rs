//! The decimals for which a comparison with a value of SQLite can be true.
//!
//! SQLite compares the text of a decimal with the text of the operand, by the collation of decimals. If the operand
//! comes from a column of numbers, it compares both as floating point numbers instead. If it is a number in a column
//! without a type, every text is greater. A virtual table does not get to know which, so the bounds allow for all.

use crate::decimal_text::Number;
use crate::time_format::BoundSide;
use rusqlite::types::ValueRef;
use std::borrow::Cow;

/// Numbers with up to this many digits differ as floating point numbers, and in the text of these, if they differ.
pub(crate) const FLOAT_DIGITS: u32 = f64::DIGITS;
const FLOAT_DIGITS_END: i128 = 10_i128.pow(FLOAT_DIGITS);

/// The decimals that can satisfy `decimal side operand`, or more: from the first to the last one inclusive, as integers
/// without their point, after which there are `scale` digits. `None` if the operand sets no bounds.
pub(crate) fn decimal_bounds(side: BoundSide, operand: ValueRef<'_>, scale: u8) -> Option<(i128, i128)> {
    let is_lower = matches!(side, BoundSide::Greater | BoundSide::GreaterOrEqual);
    let written = match operand {
        ValueRef::Integer(_) | ValueRef::Real(_) if is_lower => return None,
        ValueRef::Text(text) => Cow::Borrowed(std::str::from_utf8(text).ok()?),
        ValueRef::Integer(value) => Cow::Owned(value.to_string()),
        ValueRef::Real(value) => Cow::Owned(format!("{value:e}")),
        ValueRef::Null | ValueRef::Blob(_) => return None,
    };
    let number = Number::parse(&written)?;
    let (below, above) = number.scaled(scale);
    let size = below.abs().max(above.abs());
    if number.digit_count() <= FLOAT_DIGITS as usize && size < FLOAT_DIGITS_END {
        return Some(side.of_exact(below, above));
    }
    // One in the last digit of a floating point number, and the digit that is cut.
    let slack = size / (FLOAT_DIGITS_END / 10) + 1;
    Some(side.of_inexact(below - slack, above + slack))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_exact_where_floating_point_numbers_are() {
        let bounds = |side, operand| decimal_bounds(side, operand, 2);
        for same in [ValueRef::Real(10.5), ValueRef::Text(b"10.50"), ValueRef::Text(b"105e-1")] {
            assert_eq!(bounds(BoundSide::Equal, same), Some((1_050, 1_050)));
            assert_eq!(bounds(BoundSide::LessOrEqual, same), Some((i128::MIN, 1_050)));
        }
        assert_eq!(bounds(BoundSide::Greater, ValueRef::Text(b"10.50")), Some((1_051, i128::MAX)));
        assert_eq!(bounds(BoundSide::GreaterOrEqual, ValueRef::Text(b"-3")), Some((-300, i128::MAX)));
        // The texts of all decimals are greater than a number that stays one.
        assert_eq!(bounds(BoundSide::Greater, ValueRef::Real(10.5)), None);
        assert_eq!(bounds(BoundSide::GreaterOrEqual, ValueRef::Integer(-3)), None);
        let (first, last) = bounds(BoundSide::Equal, ValueRef::Text(b"10.505")).unwrap();
        assert!(first > last, "no decimal with two digits after the point is 10.505");
        for other in [ValueRef::Text(b"ten"), ValueRef::Text(b""), ValueRef::Real(f64::INFINITY), ValueRef::Blob(b"1")]
        {
            assert_eq!(bounds(BoundSide::Less, other), None);
        }
    }

    #[test]
    fn what_is_equal_as_floating_point_numbers_is_within_the_bounds() {
        // 0.1 + 0.2 has the text 0.3 in SQLite.
        let (first, last) = decimal_bounds(BoundSide::Equal, ValueRef::Real(0.1 + 0.2), 20).unwrap();
        assert!(first <= 30_000_000_000_000_000_000 && 30_000_000_000_000_000_000 <= last);
        let (first, last) = decimal_bounds(BoundSide::Equal, ValueRef::Integer((1 << 53) + 1), 0).unwrap();
        assert!(first <= 1 << 53 && 1 << 53 <= last);
        let (first, _) = decimal_bounds(BoundSide::GreaterOrEqual, ValueRef::Text(b"1e38"), 0).unwrap();
        assert!(first < 10_i128.pow(38));
    }
}
