//! Floats as text: the shortest digits that stand for the number, written as PostgreSQL does.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};

/// The power of ten from which on numbers are written with an exponent: the digits that every number of the type has.
const DOUBLE_DIGITS: i32 = 15;
const REAL_DIGITS: i32 = 6;

/// The text of one float of an array; `None` for NULL.
pub fn float_text(array: &ArrayRef, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    Some(match array.data_type() {
        DataType::Float32 => {
            let value = array.as_primitive::<Float32Type>().value(row);
            text(f64::from(value), &format!("{value:e}"), REAL_DIGITS)
        }
        _ => {
            let value = array.as_primitive::<Float64Type>().value(row);
            text(value, &format!("{value:e}"), DOUBLE_DIGITS)
        }
    })
}

/// The text of a float. `scientific` is the number with one digit before the point.
fn text(value: f64, scientific: &str, digits_max: i32) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}Infinity");
    }
    let (mantissa, exponent) = scientific.trim_start_matches('-').split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..digits_max).contains(&exponent) {
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        return format!("{sign}{}", plain(&digits, exponent));
    }
    let sign_of_exponent = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{mantissa}e{sign_of_exponent}{:02}", exponent.abs())
}

/// Writes digits without an exponent. The first digit counts `10^exponent`.
fn plain(digits: &str, exponent: i32) -> String {
    if exponent < 0 {
        return format!("0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1));
    }
    let whole = exponent as usize + 1;
    match digits.len() > whole {
        true => format!("{}.{}", &digits[..whole], &digits[whole..]),
        false => format!("{digits}{}", "0".repeat(whole - digits.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Float32Array, Float64Array};
    use std::sync::Arc;

    #[test]
    fn floats_are_written_as_postgresql_writes_them() {
        let doubles = [
            (3.0, "3"),
            (-0.25, "-0.25"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (1.5e-4, "0.00015"),
            (1.5e-5, "1.5e-05"),
            (1e300, "1e+300"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ];
        for (value, wanted) in doubles {
            let array: ArrayRef = Arc::new(Float64Array::from(vec![value]));
            assert_eq!(float_text(&array, 0).unwrap(), wanted);
        }
        for (value, wanted) in [(100_000.0, "100000"), (1_000_000.0, "1e+06"), (0.1, "0.1"), (123.456, "123.456")] {
            let array: ArrayRef = Arc::new(Float32Array::from(vec![value]));
            assert_eq!(float_text(&array, 0).unwrap(), wanted);
        }
    }
}
