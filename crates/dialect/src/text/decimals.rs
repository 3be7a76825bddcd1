//! Decimals: numbers in the text of a statement, and the floats that are nearest to decimals.

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float32Type, Float64Type};
use arrow::error::ArrowError;
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use atsdb_core::{Error, decimal};
use datafusion::common::ScalarValue;
use std::sync::Arc;

/// Integers up to these, and powers of ten with up to these exponents, are floats of the type without rounding.
const DOUBLE_EXACT: (u128, i8) = (1 << 53, 22);
const REAL_EXACT: (u128, i8) = (1 << 24, 10);

/// Reads a number with or without a sign, point and exponent: as an integer that counts the last digit after the
/// point, and the number of digits after the point. `None` if it is not a number, or has more than
/// [`DECIMAL_DIGITS_MAX`] digits.
pub fn read(number: &str) -> Option<(i128, i8)> {
    let number = number.replace('_', "");
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((&number, "0"));
    let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i64);
    let scale = u8::try_from(fraction.checked_sub(exponent.parse().ok()?)?.max(0)).ok()?;
    let value = decimal::parse(&number, DECIMAL_DIGITS_MAX, scale)?;
    (scale <= DECIMAL_DIGITS_MAX).then_some((value, scale.cast_signed()))
}

/// A number as a decimal with its digits.
pub fn scalar((value, scale): (i128, i8)) -> ScalarValue {
    let least = scale.unsigned_abs().max(1);
    let precision = (least..DECIMAL_DIGITS_MAX).find(|precision| decimal::fits(value, *precision));
    ScalarValue::Decimal128(Some(value), precision.unwrap_or(DECIMAL_DIGITS_MAX), scale)
}

/// The number of digits that a decimal type has before the point. Negative if the first ones after the point are always
/// zero.
pub fn digits_before(precision: u8, scale: i8) -> i16 {
    i16::from(precision) - i16::from(scale)
}

/// The precision for this many digits before and behind the point, as far as a decimal has room for them.
pub fn precision_of(before: i16, behind: i8) -> u8 {
    let digits = (before + i16::from(behind)).clamp(1, DECIMAL_DIGITS_MAX.into());
    u8::try_from(digits).unwrap_or(DECIMAL_DIGITS_MAX)
}

/// Returns whether a text is one of PostgreSQL's words for `NaN` and the infinities as a `NUMERIC`.
pub fn is_not_finite(text: &str) -> bool {
    let words = ["nan", "infinity", "+infinity", "-infinity", "inf", "+inf", "-inf"];
    words.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// The type of a text beside decimals: a decimal with the digits of its number, or a `DOUBLE` if it is `NaN` or
/// infinite, which no decimal is. `None` if it is neither.
pub fn type_of_text(text: &str) -> Option<DataType> {
    let text = text.trim();
    let number = read(text).map(|number| scalar(number).data_type());
    number.or_else(|| is_not_finite(text).then_some(DataType::Float64))
}

/// The error for a result with more digits than a decimal with this many after the point can have.
pub fn too_many_digits(scale: i8) -> Error {
    let before_point = digits_before(DECIMAL_DIGITS_MAX, scale);
    Error::invalid(format!("overflow: the result has more than {before_point} digits before the point"))
        .with_hint("compute with DOUBLE: CAST(x AS DOUBLE)")
}

/// The nearest float of 64 bits. Division rounds once, and parsing rounds once.
pub fn nearest_double((value, scale): (i128, i8)) -> f64 {
    match is_exact(value, scale, DOUBLE_EXACT) {
        true => value as f64 / 10_f64.powi(scale.into()),
        false => format!("{value}e{}", -i32::from(scale)).parse().unwrap_or(f64::NAN),
    }
}

/// The nearest float of 32 bits.
pub fn nearest_real((value, scale): (i128, i8)) -> f32 {
    match is_exact(value, scale, REAL_EXACT) {
        true => value as f32 / 10_f32.powi(scale.into()),
        false => format!("{value}e{}", -i32::from(scale)).parse().unwrap_or(f32::NAN),
    }
}

fn is_exact(value: i128, scale: i8, (value_max, scale_max): (u128, i8)) -> bool {
    value.unsigned_abs() <= value_max && (0..=scale_max).contains(&scale)
}

/// An array of decimals as floats of a type, each the nearest one. Arrow rounds several times.
pub fn nearest_floats(array: &ArrayRef, target: &DataType) -> Result<ArrayRef, ArrowError> {
    let DataType::Decimal128(_, scale) = *array.data_type() else { return cast(array, target) };
    let decimals = array.as_primitive::<Decimal128Type>();
    Ok(match target {
        DataType::Float32 => Arc::new(decimals.unary::<_, Float32Type>(|value| nearest_real((value, scale)))),
        DataType::Float64 => Arc::new(decimals.unary::<_, Float64Type>(|value| nearest_double((value, scale)))),
        _ => return cast(array, target),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_precision_has_room_for_the_digits_before_and_behind_the_point() {
        for (precision, scale, before) in [(5, 2, 3), (3, 3, 0), (2, 4, -2), (4, -3, 7)] {
            assert_eq!(digits_before(precision, scale), before, "{precision}, {scale}");
        }
        for (before, behind, precision) in [(3, 2, 5), (0, 0, 1), (-2, 4, 2), (30, 20, DECIMAL_DIGITS_MAX)] {
            assert_eq!(precision_of(before, behind), precision, "{before}, {behind}");
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        for (text, expected) in [
            ("1.10", Some((110, 2))),
            ("-.5", Some((-5, 1))),
            ("7.", Some((7, 0))),
            ("1e3", Some((1_000, 0))),
            ("1.5E+3", Some((1_500, 0))),
            ("12.50e1", Some((1_250, 1))),
            ("1e-5", Some((1, 5))),
            ("0.00", Some((0, 2))),
            ("1_000.5", Some((10_005, 1))),
            ("1_000.000_5", Some((10_000_005, 4))),
            ("99999999999999999999999999999999999999", Some((10_i128.pow(38) - 1, 0))),
            ("100000000000000000000000000000000000000", None),
            ("1e38", None),
            ("1e-39", None),
            ("1e300", None),
            ("1e99999999999", None),
            (".", None),
            ("", None),
            ("1x", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        assert_eq!(scalar((110, 2)), ScalarValue::Decimal128(Some(110), 3, 2));
        assert_eq!(scalar((0, 2)), ScalarValue::Decimal128(Some(0), 2, 2));
        assert_eq!(scalar((-1, 5)), ScalarValue::Decimal128(Some(-1), 5, 5));
    }

    #[test]
    fn floats_are_the_nearest_ones() {
        for text in [
            "0.1",
            "21.5",
            "9007199254740993",
            "0.30000000000000004440892098500626",
            "123456789012345678901234567890.12345",
            "1e-30",
            "3.4028235e37",
            "16777217.0",
            "0.00000000000000000000000000000000000001",
            "-8.41",
        ] {
            let number = read(text).unwrap();
            assert_eq!(nearest_double(number), text.parse::<f64>().unwrap(), "{text}");
            assert_eq!(nearest_real(number), text.parse::<f32>().unwrap(), "{text}");
        }
    }
}
