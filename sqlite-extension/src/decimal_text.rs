//! A collation that compares decimals, which SQLite has as text, as numbers.
//!
//! With the collation it does not matter how a query writes a number: SQLite makes text of `9.5`, as of any operand
//! that it compares with text.

use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use rusqlite::{Connection, Result};
use std::cmp::Ordering;

/// The name of the collation.
pub(crate) const COLLATION: &str = "atsdb_decimal";

/// Registers the collation.
pub(crate) fn register(host: &Connection) -> Result<()> {
    host.create_collation(COLLATION, compare)
}

/// Compares numbers as numbers, exactly. Other text is after all numbers, byte by byte.
fn compare(a: &str, b: &str) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    match (Number::parse(a), Number::parse(b)) {
        (Some(a), Some(b)) => a.compare(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// A number of this size has more digits than a decimal.
const BEYOND_DECIMALS: i128 = 10_i128.pow(DECIMAL_DIGITS_MAX as u32);

/// A number with any number of digits.
pub(crate) struct Number<'a> {
    is_negative: bool,
    /// The digits before the point.
    whole: &'a [u8],
    /// The digits after it.
    fraction: &'a [u8],
    /// By how many digits the point is further right than it is written.
    exponent: i64,
}

impl<'a> Number<'a> {
    /// Parses `-12.50`, `.5` or, as SQLite writes large and small ones, `1.0e+20`.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (is_negative, text) = match text.strip_prefix(['-', '+']) {
            Some(rest) => (text.starts_with('-'), rest),
            None => (false, text),
        };
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, i64::from(exponent.parse::<i32>().ok()?)),
            None => (text, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let number = Self { is_negative, whole: whole.as_bytes(), fraction: fraction.as_bytes(), exponent };
        let is_number = number.digits().next().is_some() && number.digits().all(|digit| digit.is_ascii_digit());
        is_number.then_some(number)
    }

    fn digits(&self) -> impl Iterator<Item = u8> {
        self.whole.iter().chain(self.fraction).copied()
    }

    /// The number of digits from the first to the last one that is not a zero.
    pub(crate) fn digit_count(&self) -> usize {
        let mut positions = self.digits().enumerate().filter(|(_, digit)| *digit != b'0').map(|(position, _)| position);
        positions.next().map_or(0, |first| positions.last().unwrap_or(first) - first + 1)
    }

    /// The number with its point moved by `scale` digits to the right, rounded down and rounded up. One that has more
    /// digits than a decimal then is [`BEYOND_DECIMALS`].
    pub(crate) fn scaled(&self, scale: u8) -> (i128, i128) {
        let Some(magnitude) = self.magnitude() else { return (0, 0) };
        let whole_digits = magnitude + i64::from(scale);
        let mut digits = self.digits().skip_while(|digit| *digit == b'0').map(|digit| i128::from(digit - b'0'));
        let (size, has_rest) = if whole_digits > i64::from(DECIMAL_DIGITS_MAX) {
            (BEYOND_DECIMALS, false)
        } else {
            let size = (0..whole_digits).fold(0, |size, _| size * 10 + digits.next().unwrap_or(0));
            (size, digits.any(|digit| digit != 0))
        };
        let rounded_up = size + i128::from(has_rest);
        if self.is_negative { (-rounded_up, -size) } else { (size, rounded_up) }
    }

    /// The number of digits before the point, without leading zeros; negative if the fraction begins with zeros. `None`
    /// is zero.
    fn magnitude(&self) -> Option<i64> {
        let zeros = self.digits().position(|digit| digit != b'0')?;
        Some(i64::try_from(self.whole.len()).ok()? - i64::try_from(zeros).ok()? + self.exponent)
    }

    fn compare(&self, other: &Self) -> Ordering {
        let (own, others) = (self.magnitude(), other.magnitude());
        let sign = |number: &Self, magnitude: Option<i64>| match (magnitude, number.is_negative) {
            (None, _) => 0,
            (Some(_), false) => 1,
            (Some(_), true) => -1,
        };
        let (own_sign, other_sign) = (sign(self, own), sign(other, others));
        let by_size = || own.cmp(&others).then_with(|| self.compare_digits(other));
        own_sign.cmp(&other_sign).then_with(|| if own_sign < 0 { by_size().reverse() } else { by_size() })
    }

    /// Compares numbers of one magnitude, without their signs.
    fn compare_digits(&self, other: &Self) -> Ordering {
        let is_zero = |digit: &u8| *digit == b'0';
        let (mut own, mut others) = (self.digits().skip_while(is_zero), other.digits().skip_while(is_zero));
        loop {
            let (a, b) = (own.next(), others.next());
            if a.is_none() && b.is_none() {
                return Ordering::Equal;
            }
            // A digit that is not written is a zero.
            match a.unwrap_or(b'0').cmp(&b.unwrap_or(b'0')) {
                Ordering::Equal => {}
                different => return different,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_as_numbers() {
        let ascending = [
            "-1.0e+20",
            "-10.50",
            "-9",
            "-0.05",
            "0",
            "1e-7",
            "0.0000002",
            "0.1",
            "9.00",
            "9.000000000000000000000000000000000001",
            "10.49",
            "10.5",
            "99999999999999999999999999999999999999",
            "1e+40",
            "",
            ".",
            "-",
            "1.2.3",
            "NaN",
            "e5",
            "ten",
        ];
        for (at, a) in ascending.iter().enumerate() {
            for (other_at, b) in ascending.iter().enumerate() {
                let expected = match (Number::parse(a), Number::parse(b)) {
                    (None, None) => a.cmp(b),
                    _ => at.cmp(&other_at),
                };
                assert_eq!(compare(a, b), expected, "{a} {b}");
            }
        }
    }

    #[test]
    fn a_moved_point_rounds_down_and_up() {
        let beyond = BEYOND_DECIMALS;
        for (text, scaled, digit_count) in [
            ("10.5", (1_050, 1_050), 3),
            ("-010.500", (-1_050, -1_050), 3),
            ("10.505", (1_050, 1_051), 5),
            ("-10.505", (-1_051, -1_050), 5),
            ("0.001", (0, 1), 1),
            ("-1e-400", (-1, 0), 1),
            ("0.000", (0, 0), 0),
            ("12e3", (1_200_000, 1_200_000), 2),
            ("1e36", (beyond, beyond), 1),
            ("-9e400", (-beyond, -beyond), 1),
            ("999999999999999999999999999999999999.999", (beyond - 1, beyond), 39),
        ] {
            let number = Number::parse(text).unwrap();
            assert_eq!((number.scaled(2), number.digit_count()), (scaled, digit_count), "{text}");
        }
    }

    #[test]
    fn one_number_in_many_forms() {
        for same in ["10.5", "+10.50", "010.500", "1.05e1", "105E-1", "10.500000000000000000000000000000000000000"] {
            assert_eq!(compare(same, "10.50"), Ordering::Equal, "{same}");
        }
        for zero in ["-0", "0.00", ".0", "0e9", "0."] {
            assert_eq!(compare(zero, "0"), Ordering::Equal, "{zero}");
        }
    }
}
