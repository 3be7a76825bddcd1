//! Numbers in the text of a statement that become decimals, because they are combined with decimals.

use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use atsdb_core::decimal;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, lit};

/// Numbers with up to this many digits are distinct as floats.
const FLOAT_DIGITS_MAX: usize = 15;

/// A number in the text of a statement as the decimal that was written. `None` if the expression is another one, or if
/// the number has more than [`FLOAT_DIGITS_MAX`] digits, so that other numbers are the same float.
pub(super) fn decimal_literal(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Literal(ScalarValue::Float64(Some(value)), _) => decimal_of(*value).map(lit),
        _ => None,
    }
}

fn decimal_of(value: f64) -> Option<ScalarValue> {
    let written = format!("{value:e}");
    let (mantissa, exponent) = written.split_once('e')?;
    let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i64);
    if mantissa.bytes().filter(u8::is_ascii_digit).count() > FLOAT_DIGITS_MAX {
        return None;
    }
    let scale = u8::try_from((fraction - exponent.parse::<i64>().ok()?).max(0)).ok()?;
    let exact = decimal::parse(&written, DECIMAL_DIGITS_MAX, scale)?;
    let precision = (scale.max(1)..=DECIMAL_DIGITS_MAX).find(|precision| decimal::fits(exact, *precision))?;
    Some(ScalarValue::Decimal128(Some(exact), precision, scale.cast_signed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_the_decimals_that_were_written() {
        for (value, expected) in [
            (0.5, Some((5, 1, 1))),
            (-12.25, Some((-1_225, 4, 2))),
            (0.0, Some((0, 1, 0))),
            (1e10, Some((10_000_000_000, 11, 0))),
            (1e-10, Some((1, 10, 10))),
            (123_456_789_012.345, Some((123_456_789_012_345, 15, 3))),
            (0.1 + 0.2, None),
            (1e38, None),
            (1e-39, None),
            (f64::INFINITY, None),
            (f64::NAN, None),
        ] {
            let expected =
                expected.map(|(value, precision, scale)| ScalarValue::Decimal128(Some(value), precision, scale));
            assert_eq!(decimal_of(value), expected, "{value}");
        }
    }
}
