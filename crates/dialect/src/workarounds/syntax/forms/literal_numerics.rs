//! Literals that are cast to `NUMERIC` without numbers, as in `'1e-12'::numeric`. Such a type has ten digits after the
//! point here, and a literal has its own. So the cast gets those of the literal, and a literal with more digits than a
//! decimal has is refused.
//!
//! No upstream issue known.

use crate::text::decimals;
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use atsdb_core::{Error, Result};
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::{DataType, ExactNumberInfo, Expr, UnaryOperator, Value, ValueWithSpan};

/// Gives the type of a cast the digits that its literal has.
pub(crate) fn keep_digits(expr: &mut Expr) -> Result<()> {
    let (data_type, literal) = match expr {
        Expr::Cast { data_type, expr, .. } => (data_type, literal_of(expr)),
        Expr::TypedString(typed) => (&mut typed.data_type, text_of(&typed.value)),
        _ => return Ok(()),
    };
    let (DataType::Numeric(digits) | DataType::Decimal(digits) | DataType::Dec(digits)) = data_type else {
        return Ok(());
    };
    let Some(literal) = literal.filter(|literal| *digits == ExactNumberInfo::None && is_number(literal)) else {
        return Ok(());
    };
    if let Some(number) = decimals::read(literal)
        && let ScalarValue::Decimal128(_, precision, scale) = decimals::scalar(number)
    {
        *digits = ExactNumberInfo::PrecisionAndScale(precision.into(), scale.into());
        return Ok(());
    }
    let message = format!("'{literal:.60}' is out of range of NUMERIC, which has {DECIMAL_DIGITS_MAX} digits");
    Err(Error::invalid(message).with_hint("write NUMERIC(38, 20) to round it, or DOUBLE"))
}

/// The text of a number or a text in the statement. A sign has no digits.
fn literal_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr: inner } => {
            literal_of(inner)
        }
        Expr::Value(value) => text_of(value),
        _ => None,
    }
}

fn text_of(value: &ValueWithSpan) -> Option<&str> {
    match &value.value {
        Value::Number(text, false) | Value::SingleQuotedString(text) => Some(text.trim()),
        _ => None,
    }
}

/// Whether a text is a number, of any length.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') && unsigned.parse::<f64>().is_ok()
}
