//! Literals that are cast to `NUMERIC` without numbers, as in `'1e-12'::numeric`, and arrays of them, as in
//! `ARRAY[1, 2.5]::numeric[]`. Such a type has ten digits after the point here, and a literal has its own. So the cast
//! gets those of the literals, and a literal with more digits than a decimal has is refused. An array of arrays gets
//! the dimensions that it has: `ARRAY[ARRAY[1]]::numeric[]` has two, as in PostgreSQL, where an array type has any
//! number. `DEC`, which DataFusion does not know, is `DECIMAL`.
//!
//! No decimal is `NaN` or infinite. Such a constant is a `DOUBLE`, which has these values and computes with them as
//! PostgreSQL's `NUMERIC` does: `NaN` equals itself and is greater than all numbers.
//!
//! No upstream issue known.

use crate::text::decimals::{self, is_not_finite};
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use atsdb_core::{Error, Result, array_text};
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::{
    Array, ArrayElemTypeDef, DataType, ExactNumberInfo, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, UnaryOperator, Value, ValueWithSpan,
};

/// The function that a cast to `jsonb` has become.
const JSON_READING: &str = "jsonb_of";

/// Gives the type of a cast the digits that its literals have, and the dimensions.
pub(crate) fn keep_digits(expr: &mut Expr) -> Result<()> {
    match expr {
        Expr::Cast { data_type, expr, .. } if is_array(data_type) => {
            set_dimensions(data_type, expr);
            set_digits(data_type, || elements_of(expr))
        }
        Expr::Cast { data_type, expr, .. } => set_digits(data_type, || Some(vec![literal_of(expr)?.to_owned()])),
        Expr::TypedString(typed) => {
            let literal = &typed.value;
            set_digits(&mut typed.data_type, || Some(vec![text_of(literal)?.to_owned()]))
        }
        _ => Ok(()),
    }
}

/// Gives `NUMERIC` without numbers, or an array of it, room for all literals. Only such a type asks for `literals`.
fn set_digits(data_type: &mut DataType, literals: impl FnOnce() -> Option<Vec<String>>) -> Result<()> {
    let data_type = element_type(data_type);
    if let DataType::Dec(digits) = *data_type {
        *data_type = DataType::Decimal(digits);
    }
    let (DataType::Numeric(digits) | DataType::Decimal(digits)) = data_type else { return Ok(()) };
    if *digits != ExactNumberInfo::None {
        return Ok(());
    }
    let are_values = |literals: &Vec<String>| literals.iter().all(|text| is_number(text) || is_not_finite(text));
    let Some(literals) = literals().filter(|literals| !literals.is_empty() && are_values(literals)) else {
        return Ok(());
    };
    if literals.iter().any(|literal| is_not_finite(literal)) {
        *data_type = DataType::DoublePrecision;
        return Ok(());
    }
    let (mut before, mut behind) = (0_u8, 0_u8);
    for literal in &literals {
        let Some(ScalarValue::Decimal128(_, precision, scale)) = decimals::read(literal).map(decimals::scalar) else {
            return Err(out_of_range(literal));
        };
        before = before.max(precision.saturating_sub(scale.unsigned_abs()));
        behind = behind.max(scale.unsigned_abs());
    }
    // No decimal has room for the digits of all elements: the type keeps its own.
    let precision = before.saturating_add(behind);
    if precision <= DECIMAL_DIGITS_MAX {
        *digits = ExactNumberInfo::PrecisionAndScale(precision.into(), behind.into());
    }
    Ok(())
}

fn out_of_range(literal: &str) -> Error {
    let message = format!("'{literal:.60}' is out of range of NUMERIC, which has {DECIMAL_DIGITS_MAX} digits");
    Error::invalid(message).with_hint("write NUMERIC(38, 20) to round it, or DOUBLE")
}

fn is_array(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Array(ArrayElemTypeDef::SquareBracket(..)))
}

/// The type of the elements of arrays of any dimensions, or the type itself.
fn element_type(data_type: &mut DataType) -> &mut DataType {
    match data_type {
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => element_type(element),
        other => other,
    }
}

/// Gives an array type the dimensions of an array that is written out: `ARRAY[ARRAY[...], ...]` has two.
fn set_dimensions(data_type: &mut DataType, array: &Expr) {
    let Some(dimensions) = dimensions_in(array).filter(|dimensions| *dimensions > 0) else { return };
    let mut written = element_type(data_type).clone();
    for _ in 0..dimensions {
        written = DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(written), None));
    }
    *data_type = written;
}

/// The dimensions of an array that is written out, and 0 of a value; `None` if they are not known.
fn dimensions_in(array: &Expr) -> Option<usize> {
    match array {
        Expr::Nested(inner) => dimensions_in(inner),
        Expr::Array(Array { elem, .. }) => match elem.first() {
            Some(first) => dimensions_in(first).map(|inner| inner + 1),
            None => Some(1),
        },
        Expr::Cast { expr, data_type, .. } if is_array(data_type) => dimensions_in(expr).filter(|inner| *inner > 0),
        Expr::Cast { .. } | Expr::Value(_) | Expr::UnaryOp { .. } => Some(0),
        _ => None,
    }
}

/// The texts of the numbers in an array in the statement; `None` if it has other elements.
fn elements_of(array: &Expr) -> Option<Vec<String>> {
    let mut elements = Vec::new();
    match array {
        Expr::Nested(inner) => return elements_of(inner),
        Expr::Array(Array { elem, .. }) => {
            for element in elem {
                match element {
                    Expr::Array(_) => elements.extend(elements_of(element)?),
                    Expr::Value(value) if value.value == Value::Null => {}
                    other => elements.push(literal_of(other)?.to_owned()),
                }
            }
        }
        Expr::Value(value) => elements.extend(array_text::parse(text_of(value)?).ok()?.into_iter().flatten()),
        _ => return None,
    }
    Some(elements)
}

/// The text of a number or a text in the statement, and of a float that is none of the numbers. A sign has no digits.
fn literal_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Cast { expr: inner, data_type, .. } if is_float(data_type) => {
            literal_of(inner).filter(|literal| is_not_finite(literal))
        }
        Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr: inner } => {
            literal_of(inner)
        }
        // A number of JSON, `'2.50'::jsonb`.
        Expr::Function(Function { name, args: FunctionArguments::List(list), .. })
            if name.to_string() == JSON_READING =>
        {
            match list.args.as_slice() {
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(json))] => literal_of(json).filter(|text| is_number(text)),
                _ => None,
            }
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

fn is_float(data_type: &DataType) -> bool {
    use DataType as D;
    matches!(data_type, D::DoublePrecision | D::Double(_) | D::Float8 | D::Real | D::Float4)
}

/// Returns whether a text is a number, of any length.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') && unsigned.parse::<f64>().is_ok()
}
