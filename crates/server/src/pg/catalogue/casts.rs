//! Casts, mostly between the numbers of objects and their names.

use super::context::Context;
use super::lookup::{name_of, number_of};
use super::type_names::type_name;
use super::value::Value;
use crate::pg::error::PgError;
use crate::pg::types::array_elements::malformed_array;
use crate::pg::types::{input, known};
use atsdb::array_text;
use atsdb::time::DAY_MICROSECONDS;
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::DataType;

/// Casts a value to another type.
pub(super) fn cast(context: &Context<'_>, value: Value, data_type: &DataType) -> Result<Value, PgError> {
    let name = type_name(data_type);
    if value.is_null() {
        return Ok(Value::Null);
    }
    if let Some(element) = name.strip_prefix('_') {
        return match value {
            Value::Text(text) => {
                let items = array_text::parse(&text).map_err(|error| malformed_array(&text, error))?;
                let items = items.into_iter().map(|item| match item {
                    Some(item) => cast_to(context, Value::Text(item), element),
                    None => Ok(Value::Null),
                });
                Ok(Value::Array(items.collect::<Result<_, _>>()?))
            }
            Value::Array(items) => {
                let items = items.into_iter().map(|item| cast_to(context, item, element));
                Ok(Value::Array(items.collect::<Result<_, _>>()?))
            }
            other => Ok(other),
        };
    }
    cast_to(context, value, &name)
}

/// Casts a value to the type with a name, such as `regclass`.
pub(super) fn cast_to(context: &Context<'_>, value: Value, name: &str) -> Result<Value, PgError> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let shown = value.shown().unwrap_or_default();
    let invalid = |name: &str| PgError::error("22P02", format!("invalid input syntax for type {name}: \"{shown}\""));
    Ok(match name {
        "regclass" | "regtype" | "regproc" | "regprocedure" | "regnamespace" | "regrole" => match value {
            // Functions that statements cannot call have names and no rows.
            Value::Named(number, known) => Value::Named(number, name_of(context, name, number)?.unwrap_or(known)),
            Value::Int(number) => {
                Value::Named(number, name_of(context, name, number)?.unwrap_or_else(|| number.to_string()))
            }
            Value::Text(text) => match number_of(context, name, &text)? {
                Some(number) => Value::Named(number, name_of(context, name, number)?.unwrap_or(text)),
                None => return Err(no_such(name, &text)),
            },
            _ => return Err(invalid(name)),
        },
        "oid" | "int2" | "int4" | "int8" | "xid" | "cid" => Value::Int(value.int().ok_or_else(|| invalid(name))?),
        "float4" | "float8" | "numeric" => match value {
            Value::Int(number) if name == "numeric" => Value::Numeric(number.to_string()),
            Value::Numeric(_) if name == "numeric" => value,
            Value::Text(text) if name == "numeric" && is_plain_number(text.trim()) => {
                Value::Numeric(text.trim().to_owned())
            }
            value => Value::Float(value.float().ok_or_else(|| invalid(name))?),
        },
        "bool" => match value {
            Value::Text(text) => Value::Bool(input::parse_boolean(&text).ok_or_else(|| invalid(name))?),
            other => Value::Bool(other.int() != Some(0)),
        },
        "text" | "varchar" | "name" | "bpchar" | "char" | "cstring" | "unknown" => Value::Text(shown),
        "interval" => interval_of(&value)?,
        "date" => match value {
            Value::Date(_) => value,
            Value::Time(microseconds) => Value::Date(microseconds.div_euclid(DAY_MICROSECONDS)),
            _ => date_of(&shown)?,
        },
        "timestamptz" | "timestamp" if matches!(value, Value::Time(_)) => value,
        "timestamptz" | "timestamp" if let Value::Date(days) = value => {
            Value::Time(days.saturating_mul(DAY_MICROSECONDS))
        }
        _ => match value {
            value @ (Value::Array(_) | Value::Record(_)) => value,
            _ if known::by_name(name).is_some() => Value::Text(shown),
            _ => return Err(PgError::error("42704", format!("type \"{name}\" does not exist"))),
        },
    })
}

/// Returns whether a text is a number as SQL has it without an exponent, such as `-1.5`.
pub(super) fn is_plain_number(text: &str) -> bool {
    let is_of_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    text.parse::<f64>().is_ok() && text.ends_with(|last: char| last.is_ascii_digit()) && text.bytes().all(is_of_number)
}

/// The date that a text names.
fn date_of(text: &str) -> Result<Value, PgError> {
    match input::parameter(known::DATE, input::Format::Text, Some(text.as_bytes()))? {
        ScalarValue::Date32(Some(days)) => Ok(Value::Date(days.into())),
        _ => Err(input::invalid(known::DATE, text)),
    }
}

/// A value as a length of time. A month has 30 days.
pub(super) fn interval_of(value: &Value) -> Result<Value, PgError> {
    let Some(text) = value.shown() else { return Ok(Value::Null) };
    match input::parameter(known::INTERVAL, input::Format::Text, Some(text.as_bytes()))? {
        ScalarValue::IntervalMonthDayNano(Some(interval)) => {
            let days = i64::from(interval.months) * 30 + i64::from(interval.days);
            Ok(Value::Interval(days.saturating_mul(DAY_MICROSECONDS).saturating_add(interval.nanoseconds / 1_000)))
        }
        _ => Err(input::invalid(known::INTERVAL, &text)),
    }
}

/// The error for a name that no object of this kind has.
pub(super) fn no_such(kind: &str, name: &str) -> PgError {
    match kind {
        "regclass" => PgError::error("42P01", format!("relation \"{name}\" does not exist")),
        "regtype" => PgError::error("42704", format!("type \"{name}\" does not exist")),
        "regnamespace" => PgError::error("3F000", format!("schema \"{name}\" does not exist")),
        "regrole" => PgError::error("42704", format!("role \"{name}\" does not exist")),
        _ => PgError::error("42883", format!("function \"{name}\" does not exist")),
    }
}
