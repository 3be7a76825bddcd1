//! The digits of numbers that `to_char` writes: rounded, with an exponent, or as a Roman number.
//!
//! Not owned: where a pattern puts them ([`number_text`](super::number_text)).

use crate::functions::base::arguments::plain_type;
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use atsdb_core::decimal;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float32Type, Float64Type, Int32Type};
use datafusion::common::Result;

/// The digits that every float of a type has.
pub(super) const DOUBLE_DIGITS: usize = 15;
pub(super) const REAL_DIGITS: usize = 6;

/// A number of an argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Int(i32),
    /// An integer that counts the last of this many digits after the point.
    Decimal(i128, i32),
    /// A float, and the digits that every float of its type has.
    Float(f64, usize),
}

/// The numbers of an array.
pub(super) fn numbers(values: &ArrayRef) -> Result<Vec<Option<Number>>> {
    let as_type = |to: DataType| -> Result<Vec<Option<Number>>> { numbers(&cast(values, &to)?) };
    match values.data_type() {
        DataType::Int32 => {
            let values = values.as_primitive::<Int32Type>().iter();
            Ok(values.map(|value| value.map(Number::Int)).collect())
        }
        DataType::Float64 => {
            let values = values.as_primitive::<Float64Type>().iter();
            Ok(values.map(|value| value.map(|value| Number::Float(value, DOUBLE_DIGITS))).collect())
        }
        DataType::Float32 => {
            let values = values.as_primitive::<Float32Type>().iter();
            Ok(values.map(|value| value.map(|value| Number::Float(value.into(), REAL_DIGITS))).collect())
        }
        DataType::Decimal128(_, scale) => {
            let scale = i32::from(*scale);
            let values = values.as_primitive::<Decimal128Type>().iter();
            Ok(values.map(|value| value.map(|value| Number::Decimal(value, scale))).collect())
        }
        DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => as_type(DataType::Int32),
        DataType::Float16 => as_type(DataType::Float32),
        DataType::Dictionary(..) => as_type(plain_type(values.data_type()).clone()),
        // The other integers have at most 20 digits.
        _ => as_type(DataType::Decimal128(20, 0)),
    }
}

/// A decimal as text with this many digits after the point, rounded half away from zero. A negative scale counts zeros
/// before the point.
pub(super) fn rounded(value: i128, scale: i32, places: usize) -> String {
    let wanted = i32::try_from(places).unwrap_or(i32::MAX);
    if scale > wanted {
        // Fewer digits always fit.
        let to_scale = u8::try_from(places).unwrap_or(0);
        return decimal::format(decimal::rescaled(value, scale, DECIMAL_DIGITS_MAX, to_scale).unwrap_or(0), to_scale);
    }
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let mut text = decimal::format(value, u8::try_from(scale.max(0)).unwrap_or(0));
    if value != 0 {
        text.push_str(&zeros(scale.saturating_neg()));
    }
    if places > 0 && scale <= 0 {
        text.push('.');
    }
    text.push_str(&zeros(wanted - scale.max(0)));
    text
}

/// A float as text, and its digits after the point: no more than the type has.
pub(super) fn float_digits(value: f64, places: usize, digits_max: usize) -> (String, usize) {
    let places = places.min(digits_max.saturating_sub(float_text(value.abs(), 0).len()));
    (float_text(value, places), places)
}

fn float_text(value: f64, places: usize) -> String {
    match value {
        value if value.is_nan() => "NaN".to_owned(),
        value if value.is_infinite() => (if value > 0.0 { "Infinity" } else { "-Infinity" }).to_owned(),
        value => format!("{value:.places$}"),
    }
}

/// `-1.23e+05`. A positive number has a space in the place of the sign. What is not a number becomes hashes, as many as
/// the pattern has places.
pub(super) fn scientific_float(value: f64, whole_digits: usize, places: usize) -> String {
    if !value.is_finite() {
        return format!(" {}.{}", "#".repeat(whole_digits), "#".repeat(places + 4));
    }
    let text = format!("{:.places$e}", value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text.as_str(), "0"));
    scientific(value.is_sign_negative(), mantissa, exponent.parse().unwrap_or(0))
}

/// The digits of a decimal in scientific notation.
pub(super) fn scientific_decimal(value: i128, scale: i32, places: usize) -> String {
    let mut digits = value.unsigned_abs().to_string();
    let mut exponent = if value == 0 { 0 } else { i32::try_from(digits.len() - 1).unwrap_or(0) - scale };
    if let Some(dropped) = (digits.len() - 1).checked_sub(places).filter(|dropped| *dropped > 0) {
        let is_up = digits.as_bytes()[places + 1] >= b'5';
        digits.truncate(digits.len() - dropped);
        if is_up {
            let kept = digits.parse::<u128>().unwrap_or(0) + 1;
            exponent += i32::from(kept.to_string().len() > digits.len());
            digits = kept.to_string();
            digits.truncate(places + 1);
        }
    }
    let fraction = &digits[1..];
    let mantissa = match places {
        0 => digits[..1].to_owned(),
        places => format!("{}.{fraction:0<places$}", &digits[..1]),
    };
    scientific(value < 0, &mantissa, exponent)
}

fn scientific(is_negative: bool, mantissa: &str, exponent: i32) -> String {
    let (sign, sign_of_exponent) = (if is_negative { '-' } else { ' ' }, if exponent < 0 { '-' } else { '+' });
    format!("{sign}{mantissa}e{sign_of_exponent}{:02}", exponent.unsigned_abs())
}

/// A number as a Roman one, rounded; `None` if there is none, as from 4000 on.
pub(super) fn roman_of(number: Number) -> Option<String> {
    let whole = match number {
        Number::Int(value) => i128::from(value),
        Number::Decimal(value, scale) => decimal::rescaled(value, scale, DECIMAL_DIGITS_MAX, 0)?,
        Number::Float(value, _) => float_text(value.round_ties_even(), 0).parse().ok()?,
    };
    (1..4_000).contains(&whole).then(|| roman(whole))
}

/// A number from 1 to 3999 in Roman letters.
fn roman(mut number: i128) -> String {
    const PARTS: [(i128, &str); 13] = [
        (1_000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut text = String::new();
    for (part, letters) in PARTS {
        while number >= part {
            text.push_str(letters);
            number -= part;
        }
    }
    text
}
