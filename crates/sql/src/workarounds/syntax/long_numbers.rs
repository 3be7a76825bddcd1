//! A number with more digits than a float distinguishes is a decimal where it is combined with other values, as in
//! PostgreSQL. DataFusion makes it a float. Beside floats it becomes the nearest float.
//!
//! DataFusion has an option that makes decimals of all numbers with a point. No upstream issue known.

use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use atsdb_core::decimal;
use datafusion::sql::sqlparser::ast::{CastKind, DataType, ExactNumberInfo, Expr, UnaryOperator, Value, ValueWithSpan};

/// Numbers with up to this many digits are distinct as floats.
const FLOAT_DIGITS_MAX: usize = 15;

/// Casts the long numbers among the operands of an expression.
pub(super) fn keep_digits(expr: &mut Expr) {
    match expr {
        Expr::BinaryOp { left, right, .. } => [left, right].into_iter().for_each(|operand| cast(operand)),
        Expr::Between { expr, low, high, .. } => [expr, low, high].into_iter().for_each(|operand| cast(operand)),
        Expr::InList { expr, list, .. } => {
            cast(expr);
            list.iter_mut().for_each(cast);
        }
        _ => {}
    }
}

fn cast(expr: &mut Expr) {
    if let Some((text, precision, scale)) = long_number(expr) {
        *expr = Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(Expr::value(Value::SingleQuotedString(text))),
            data_type: DataType::Decimal(ExactNumberInfo::PrecisionAndScale(precision.into(), scale.into())),
            array: false,
            format: None,
        };
    }
}

/// A number that a float would change: its text, its digits, and how many of them are behind the point. `None` for
/// other expressions, and for numbers that no decimal holds.
pub(crate) fn long_number(expr: &Expr) -> Option<(String, u8, u8)> {
    let (sign, number) = match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => ("-", expr.as_ref()),
        other => ("", other),
    };
    let Expr::Value(ValueWithSpan { value: Value::Number(number, false), .. }) = number else { return None };
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let is_integer = number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
    if is_integer || digits.trim_start_matches('0').len() <= FLOAT_DIGITS_MAX {
        return None;
    }
    let scale = u8::try_from((fraction.len() as i64 - exponent.parse::<i64>().ok()?).max(0)).ok()?;
    let scale = Some(scale).filter(|scale| *scale <= DECIMAL_DIGITS_MAX)?;
    let value = decimal::parse(&format!("{sign}{number}"), DECIMAL_DIGITS_MAX, scale)?;
    let precision = (scale.max(1)..=DECIMAL_DIGITS_MAX).find(|precision| decimal::fits(value, *precision))?;
    Some((decimal::format(value, scale), precision, scale))
}

#[cfg(test)]
mod tests {
    use super::super::expression;
    use super::*;

    #[test]
    fn only_numbers_that_a_float_changes_are_long() {
        let long = |text: &str| long_number(&expression(text).unwrap());
        let of = |text: &str, precision, scale| Some((text.to_owned(), precision, scale));
        assert_eq!(long("12345678901234567890.25"), of("12345678901234567890.25", 22, 2));
        assert_eq!(long("-0.30000000000000004"), of("-0.30000000000000004", 17, 17));
        assert_eq!(long("1.2345678901234567e3"), of("1234.5678901234567", 17, 13));
        assert_eq!(long("18446744073709551616"), of("18446744073709551616", 20, 0));
        for text in ["0.1", "18446744073709551615", "-9223372036854775808", "1e300", "123456789012.345", "x"] {
            assert_eq!(long(text), None, "{text}");
        }
        assert_eq!(long(&format!("0.{}", "1".repeat(40))), None);
    }
}
