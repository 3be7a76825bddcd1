//! Converts numbers in literals to the types of columns. A number that the column can hold is not rounded, and one that
//! it cannot hold is refused, except that an integer column rounds a number with a fraction.

use super::decimals;
use super::literal::Literal;
use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use atsdb_core::{Error, Result, decimal};
use std::borrow::Cow;
use std::sync::Arc;

/// The maximum number of digits. A longer number does not fit a 64-bit type, or consists only of zeros.
const DIGITS_MAX: usize = 30;

/// A whole number, which may be written with a fraction or as text.
pub fn integer(literal: &Literal<'_>) -> Option<i128> {
    match literal {
        Literal::Bool(value) => Some(i128::from(*value)),
        Literal::Number(text) | Literal::Parameter(text) => whole(text, Fraction::Refused),
        Literal::Text(text) => whole(text.trim(), Fraction::Refused),
        Literal::Null | Literal::Bytes(_) | Literal::Typed(_) => None,
    }
}

/// A number as it is assigned to an integer: rounded, halves away from zero. A text or a parameter must be whole.
pub fn rounded_integer(literal: &Literal<'_>) -> Option<i128> {
    match literal {
        Literal::Number(text) => whole(text, Fraction::Rounded),
        other => integer(other),
    }
}

/// How digits after the point are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fraction {
    Refused,
    Rounded,
}

/// Parses digits with a sign, decimal point and exponent. `None` if a fraction is refused, and the number has one.
fn whole(text: &str, fractions: Fraction) -> Option<i128> {
    if let Ok(value) = text.parse::<i64>() {
        return Some(value.into());
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (negative, unsigned) = match mantissa.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (integer, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut digits = integer.bytes().chain(fraction.bytes());
    if integer.len() + fraction.len() == 0 || !digits.all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let written = format!("{integer}{fraction}");
    let significant = written.trim_end_matches('0');
    let zeros = i64::try_from(written.len() - significant.len()).ok()?;
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    // The number of zeros after the significant digits. If it is negative, that many digits are after the point.
    let scale = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?.checked_add(zeros)?;
    let (kept, zeros, rounds_up) = match usize::try_from(scale) {
        Ok(zeros) => (significant, zeros, false),
        Err(_) if fractions == Fraction::Refused => return None,
        Err(_) => match significant.len().checked_sub(usize::try_from(scale.unsigned_abs()).ok()?) {
            Some(kept) => (&significant[..kept], 0, significant.as_bytes()[kept] >= b'5'),
            None => ("", 0, false),
        },
    };
    if kept.len().saturating_add(zeros) > DIGITS_MAX {
        return None;
    }
    let digits = format!("0{kept}{}", "0".repeat(zeros));
    let value = digits.parse::<i128>().ok()? + i128::from(rounds_up);
    Some(if negative { -value } else { value })
}

/// The nearest float. `None` if the number would become infinite, or if a tiny number would become zero. SQL has one
/// NaN, without a sign: it equals itself, and is greater than all numbers.
pub fn float64(literal: &Literal<'_>) -> Option<f64> {
    match literal {
        Literal::Number(text) | Literal::Parameter(text) | Literal::Text(text) => {
            let text = text.trim();
            let value = text.parse().ok().filter(|value: &f64| is_kept(text, value.is_finite(), *value == 0.0))?;
            Some(if value.is_nan() { f64::NAN } else { value })
        }
        Literal::Bool(value) => Some(f64::from(u8::from(*value))),
        Literal::Null | Literal::Bytes(_) | Literal::Typed(_) => None,
    }
}

/// The nearest `REAL`, as [`float64`] reads it. `None` if the number would become infinite, or if a tiny number would
/// become zero.
pub fn float32(literal: &Literal<'_>) -> Option<f32> {
    match literal {
        Literal::Number(text) | Literal::Parameter(text) | Literal::Text(text) => {
            let text = text.trim();
            let value = text.parse().ok().filter(|value: &f32| is_kept(text, value.is_finite(), *value == 0.0))?;
            Some(if value.is_nan() { f32::NAN } else { value })
        }
        Literal::Bool(value) => Some(f32::from(u8::from(*value))),
        Literal::Null | Literal::Bytes(_) | Literal::Typed(_) => None,
    }
}

/// Returns whether a float represents a text: only words (`inf`, `nan`) may be non-finite, and only zeros zero.
fn is_kept(text: &str, is_finite: bool, is_zero: bool) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    match (is_finite, is_zero) {
        (false, _) => !text.bytes().any(|byte| byte.is_ascii_digit()),
        (true, true) => !mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9')),
        (true, false) => true,
    }
}

/// A number in a text column, formatted as a query plan would format the same literal: without leading zeros and
/// exponent, and with its digits after the point; a number with more digits than a decimal has as the text of the
/// `DOUBLE`.
pub fn as_text(number: &str) -> Result<Cow<'_, str>> {
    if let Ok(value) = number.parse::<i64>() {
        return Ok(value.to_string().into());
    }
    if let Ok(value) = number.parse::<u64>() {
        return Ok(value.to_string().into());
    }
    if let Some((value, scale)) = decimals::read(number) {
        return Ok(decimal::format(value, scale.unsigned_abs()).into());
    }
    let value: f64 = number.parse().map_err(|_| Error::invalid(format!("{number:.60} is not a number")))?;
    let texts = cast(&(Arc::new(Float64Array::from(vec![value])) as ArrayRef), &DataType::Utf8)?;
    Ok(texts.as_string::<i32>().value(0).to_owned().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Literal<'_> {
        Literal::Number(text.into())
    }

    #[test]
    fn whole_numbers_are_exact_however_they_are_written() {
        for (text, expected) in [
            ("9007199254740993.0", Some(9_007_199_254_740_993)),
            ("-9223372036854775808.", Some(i128::from(i64::MIN))),
            ("18446744073709551615.000", Some(i128::from(u64::MAX))),
            ("1e3", Some(1_000)),
            ("-1.250E+2", Some(-125)),
            ("1200e-2", Some(12)),
            ("007", Some(7)),
            ("0.000e-999999999999", Some(0)),
            ("1.5", None),
            ("1e-1", None),
            ("1e999999999999999999", None),
            ("1e40", None),
            (".", None),
            ("", None),
            ("1x", None),
        ] {
            assert_eq!(integer(&number(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_number_is_rounded_to_an_integer() {
        for (text, expected) in [
            ("1.4", Some(1)),
            ("1.5", Some(2)),
            ("-1.5", Some(-2)),
            ("-0.5", Some(-1)),
            ("0.49999", Some(0)),
            ("0.05", Some(0)),
            ("99.5", Some(100)),
            ("15e-1", Some(2)),
            ("5e-1", Some(1)),
            ("5e-2", Some(0)),
            ("1e-99", Some(0)),
            ("1.25e1", Some(13)),
            ("9223372036854775807.4", Some(i128::from(i64::MAX))),
            ("12", Some(12)),
            ("1e40", None),
            ("1.x", None),
        ] {
            assert_eq!(rounded_integer(&number(text)), expected, "{text}");
        }
        assert_eq!(rounded_integer(&Literal::Text("1.5".into())), None);
        assert_eq!(rounded_integer(&Literal::Parameter("1.5".into())), None);
        assert_eq!(rounded_integer(&Literal::Parameter("2.0".into())), Some(2));
    }

    #[test]
    fn a_number_beyond_all_floats_is_refused() {
        for text in ["1e999", "-1e999", "1e-999", "0.0001e-400"] {
            assert_eq!(float64(&number(text)), None, "{text}");
            assert_eq!(float64(&Literal::Text(text.into())), None, "{text}");
        }
        assert_eq!(float32(&Literal::Text("1e39".into())), None);
        assert_eq!(float64(&Literal::Text(" -inf".into())), Some(f64::NEG_INFINITY));
        let nan = |text: &'static str| float64(&Literal::Text(text.into())).map(f64::to_bits);
        assert_eq!((nan("NaN"), nan("-nan")), (Some(f64::NAN.to_bits()), Some(f64::NAN.to_bits())));
        let nan = float32(&Literal::Text("-NaN".into()));
        assert_eq!(nan.map(f32::to_bits), Some(f32::NAN.to_bits()));
        assert_eq!(float64(&number("0e-999")), Some(0.0));
        assert_eq!(float64(&number("-0.0")).map(f64::to_bits), Some((-0.0_f64).to_bits()));
    }

    #[test]
    fn a_number_in_a_text_column_is_written_anew() {
        for (text, expected) in [
            ("007", "7"),
            ("-0", "0"),
            ("18446744073709551615", "18446744073709551615"),
            ("1e3", "1000"),
            (".50", "0.50"),
            ("1e300", "1e300"),
        ] {
            assert_eq!(as_text(text).unwrap(), expected);
        }
    }
}
