//! Casts: to `varchar(n)`, which cut, to `float`, which is a `DOUBLE`, and to the types `name`, `"char"`, `oid`,
//! `int2vector` and `oidvector` of PostgreSQL's catalogue.
//!
//! [#10743](https://github.com/apache/datafusion/issues/10743) is closed upstream, but the length of a `varchar(n)` is
//! still ignored; for the others no upstream issue is known.

use super::composed_functions::filled;
use super::literal_numerics::keep_digits;
use crate::functions::texts::strings::{CUT_CHAR, CUT_NAME, INT2VECTOR, OIDVECTOR};
use crate::functions::types::char_texts::{CHAR, VARCHAR};
use crate::text::declared_length::declared_length;
use crate::text::errors::sql_error;
use crate::workarounds::syntax::{expression, set_first_argument};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, DataType, ExactNumberInfo, Expr, UnaryOperator, Value, ValueWithSpan,
};

/// Types of PostgreSQL's catalogue that are texts here, and the functions that read their values.
const READINGS: [(&str, &str); 4] =
    [("name", CUT_NAME), ("char", CUT_CHAR), ("int2vector", INT2VECTOR), ("oidvector", OIDVECTOR)];

/// Rewrites a cast whose operand has been rewritten already.
pub(super) fn other_cast(expr: &mut Expr) -> Result<()> {
    let Expr::Cast { expr: operand, data_type, .. } = expr else { return Ok(()) };
    if is_custom(data_type, "oid")
        && let Some(number) = oid_of_negative(operand)
    {
        **operand = number;
    }
    drop_length(data_type);
    write_float(data_type)?;
    if is_vector(operand) && matches!(data_type, DataType::Array(_)) {
        **operand = filled("string_to_array(a, ' ')", &[operand.as_ref()])?;
    }
    let reading = READINGS.iter().find(|(name, _)| is_custom(data_type, name)).map(|(_, reading)| *reading);
    write_catalogue_type(data_type);
    keep_digits(expr)?;
    match reading {
        Some(function) => enclose(expr, function),
        None => cut_to_length(expr),
    }
}

/// Writes `int[4]` as `int[]`: the length means nothing.
fn drop_length(data_type: &mut DataType) {
    if let DataType::Array(ArrayElemTypeDef::SquareBracket(element, length)) = data_type {
        *length = None;
        drop_length(element);
    }
}

/// Writes `float` as a `DOUBLE`, and `float(n)` as a `REAL` if it has up to 24 bits.
pub(super) fn write_float(data_type: &mut DataType) -> Result<()> {
    match data_type {
        DataType::Float(ExactNumberInfo::None) => *data_type = DataType::DoublePrecision,
        DataType::Float(ExactNumberInfo::Precision(bits)) => {
            *data_type = match bits {
                0 => return Err(sql_error("FLOAT(0): a float has at least 1 bit")),
                1..=24 => DataType::Real,
                25..=53 => DataType::DoublePrecision,
                _ => return Err(sql_error(format!("FLOAT({bits}): a float has at most 53 bits"))),
            }
        }
        DataType::Array(ArrayElemTypeDef::SquareBracket(item, _)) => write_float(item)?,
        _ => {}
    }
    Ok(())
}

/// Writes types of PostgreSQL's catalogue as others: those of [`READINGS`] are texts, and an `oid` is an integer of 32
/// bits without a sign. A `bpchar` is a text, as a `char(n)` is.
fn write_catalogue_type(data_type: &mut DataType) {
    if is_custom(data_type, "bpchar") || READINGS.iter().any(|(name, _)| is_custom(data_type, name)) {
        *data_type = DataType::Text;
    } else if is_custom(data_type, "oid") {
        *data_type = DataType::IntUnsigned(None);
    }
}

/// The `oid` that a negative number of 32 bits is, which PostgreSQL counts back from the end.
fn oid_of_negative(expr: &Expr) -> Option<Expr> {
    let digits = match expr {
        Expr::Nested(inner)
        | Expr::Cast {
            expr: inner,
            data_type: DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None),
            ..
        } => return oid_of_negative(inner),
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => text.trim().strip_prefix('-')?,
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match expr.as_ref() {
            Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => digits.as_str(),
            _ => return None,
        },
        _ => return None,
    };
    let number = digits.parse::<u32>().ok().filter(|number| *number <= i32::MIN.unsigned_abs())?;
    Some(Expr::value(Value::Number(number.wrapping_neg().to_string(), false)))
}

/// Returns whether it is the type of this name, without arguments.
fn is_custom(data_type: &DataType, wanted: &str) -> bool {
    let DataType::Custom(name, arguments) = data_type else { return false };
    let name = name.0.last().and_then(|part| part.as_ident());
    arguments.is_empty() && name.is_some_and(|name| name.value.eq_ignore_ascii_case(wanted))
}

/// Makes an expression the argument of a function.
fn enclose(expr: &mut Expr, function: &str) -> Result<()> {
    let mut call = expression(&format!("{function}(NULL)"))?;
    set_first_argument(&mut call, expr.clone());
    *expr = call;
    Ok(())
}

/// Returns whether an expression has been a cast to a list of numbers that is a text.
fn is_vector(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_vector(inner),
        Expr::Function(call) => [INT2VECTOR, OIDVECTOR].contains(&call.name.to_string().as_str()),
        _ => false,
    }
}

/// A cast to `varchar(n)` cuts, and one to `char(n)` also removes spaces at the end, which have no meaning in it.
/// `char` is `char(1)`. A cast to an array of them cuts the elements.
fn cut_to_length(expr: &mut Expr) -> Result<()> {
    let Expr::Cast { data_type, .. } = expr else { return Ok(()) };
    let (text_type, is_array) = match data_type {
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => (element.as_mut(), true),
        data_type => (data_type, false),
    };
    let Some((length, is_padded)) = declared_length(text_type) else {
        if matches!(text_type, DataType::CharVarying(None) | DataType::CharacterVarying(None)) {
            *text_type = DataType::Text;
        }
        return Ok(());
    };
    *text_type = DataType::Text;
    if is_array {
        let mut cut = expression(&format!("cut_elements(NULL, {length}, {is_padded})"))?;
        set_first_argument(&mut cut, expr.clone());
        *expr = cut;
        return Ok(());
    }
    let function = if is_padded { CHAR } else { VARCHAR };
    let mut cut = expression(&format!("{function}(NULL, {length})"))?;
    set_first_argument(&mut cut, expr.clone());
    *expr = cut;
    Ok(())
}
