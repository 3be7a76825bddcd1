//! Functions about values: texts, arrays and others. The store computes those that are not among them.

use super::context::{Context, Purpose};
use super::json::json_object;
use super::name_parts::parts;
use super::value::Value;
use crate::pg::error::PgError;
use atsdb::sql::identifier;
use std::cmp::Ordering;

/// Calls a function about values.
pub(super) fn of_values(context: &Context<'_>, name: &str, arguments: &[Value]) -> Result<Value, PgError> {
    let known = of_texts(name, arguments).or_else(|| of_arrays(name, arguments)).or_else(|| of_any(name, arguments));
    if let Some(value) = known {
        return Ok(value);
    }
    if name == "json_build_object" {
        return json_object(arguments);
    }
    let value = context.functions.call(name, arguments, context.purpose == Purpose::Columns)?;
    if let Value::Text(text) = &value {
        context.limits.count_bytes(text.len())?;
    }
    Ok(value)
}

/// An argument; NULL if it is left out.
fn argument(arguments: &[Value], at: usize) -> &Value {
    arguments.get(at).unwrap_or(&Value::Null)
}

/// A function of texts; `None` for another function.
fn of_texts(name: &str, arguments: &[Value]) -> Option<Value> {
    let argument = |at: usize| argument(arguments, at);
    let text = |at: usize| argument(at).shown();
    let of_text = |change: fn(&str) -> String| text(0).map_or(Value::Null, |text| Value::Text(change(&text)));
    Some(match name {
        "lower" => of_text(str::to_lowercase),
        "upper" => of_text(str::to_uppercase),
        "btrim" if arguments.len() == 1 => of_text(|text| text.trim_matches(' ').to_owned()),
        "quote_ident" => of_text(identifier),
        "quote_literal" => of_text(|text| format!("'{}'", text.replace('\'', "''"))),
        "quote_nullable" => match text(0) {
            Some(text) => Value::Text(format!("'{}'", text.replace('\'', "''"))),
            None => Value::text("NULL"),
        },
        "length" | "char_length" => text(0).map_or(Value::Null, |text| Value::Int(text.chars().count() as i64)),
        "concat" => Value::Text(arguments.iter().filter_map(Value::shown).collect()),
        "starts_with" => match (text(0), text(1)) {
            (Some(text), Some(start)) => Value::Bool(text.starts_with(&start)),
            _ => Value::Null,
        },
        "strpos" => match (text(0), text(1)) {
            (Some(text), Some(part)) => {
                Value::Int(text.find(&part).map_or(0, |at| text[..at].chars().count() as i64 + 1))
            }
            _ => Value::Null,
        },
        // The store evaluates `substring` with a pattern.
        "substr" | "substring" if argument(1).is_null() || argument(1).int().is_some() => {
            let (Some(text), Some(from)) = (text(0), argument(1).int()) else { return Some(Value::Null) };
            let end = argument(2).int().map_or(i64::MAX, |length| from.saturating_add(length));
            let numbered = (1_i64..).zip(text.chars()).filter(|(number, _)| *number >= from && *number < end);
            Value::Text(numbered.map(|(_, letter)| letter).collect())
        }
        "split_part" if argument(2).int().is_none_or(|part| part > 0) => {
            match (text(0), text(1), argument(2).int().and_then(|part| usize::try_from(part - 1).ok())) {
                (Some(text), Some(by), Some(part)) => Value::text(text.split(&by).nth(part).unwrap_or_default()),
                _ => Value::Null,
            }
        }
        "string_to_array" => match (text(0), text(1)) {
            (Some(text), Some(by)) => Value::Array(text.split(&by).map(Value::text).collect()),
            _ => Value::Null,
        },
        "parse_ident" => match text(0) {
            Some(name) => Value::Array(parts(&name).into_iter().map(Value::Text).collect()),
            None => Value::Null,
        },
        _ => return None,
    })
}

/// A function of arrays; `None` for another function.
fn of_arrays(name: &str, arguments: &[Value]) -> Option<Value> {
    let argument = |at: usize| argument(arguments, at);
    let items = match argument(0) {
        Value::Array(items) => Some(items),
        _ => None,
    };
    Some(match name {
        "array_to_string" if arguments.len() == 2 || argument(0).is_null() => match (items, argument(1).shown()) {
            (Some(items), Some(by)) => {
                let items: Vec<String> = items.iter().filter_map(Value::shown).collect();
                Value::Text(items.join(&by))
            }
            _ => Value::Null,
        },
        "cardinality" => items.map_or(Value::Null, |items| Value::Int(items.len() as i64)),
        "array_length" | "array_upper" => {
            items.filter(|items| !items.is_empty()).map_or(Value::Null, |items| Value::Int(items.len() as i64))
        }
        "array_remove" => match items {
            Some(items) => Value::Array(items.iter().filter(|item| *item != argument(1)).cloned().collect()),
            None => Value::Null,
        },
        "array_lower" => items.filter(|items| !items.is_empty()).map_or(Value::Null, |_| Value::Int(1)),
        "array_position" => match items {
            Some(items) => {
                let found = items.iter().position(|item| item.compare(argument(1)) == Some(Ordering::Equal));
                Value::maybe(found.map(|at| at as i64 + 1))
            }
            None => Value::Null,
        },
        "array" => Value::Array(arguments.to_vec()),
        _ => return None,
    })
}

/// A function of values of several types; `None` for another function.
fn of_any(name: &str, arguments: &[Value]) -> Option<Value> {
    let argument = |at: usize| argument(arguments, at);
    let seconds = match arguments {
        [Value::Text(part), Value::Time(microseconds) | Value::Interval(microseconds)] if part == "epoch" => {
            Some(*microseconds as f64 / 1e6)
        }
        _ => None,
    };
    Some(match name {
        // Monitors ask for how long a statement runs.
        "date_part" if seconds.is_some() => seconds.map_or(Value::Null, Value::Float),
        "coalesce" => arguments.iter().find(|value| !value.is_null()).cloned().unwrap_or(Value::Null),
        "nullif" => match argument(0).compare(argument(1)) {
            Some(Ordering::Equal) => Value::Null,
            _ => argument(0).clone(),
        },
        "greatest" => arguments
            .iter()
            .filter(|value| !value.is_null())
            .cloned()
            .reduce(|one, two| if two.compare(&one) == Some(Ordering::Greater) { two } else { one })
            .unwrap_or(Value::Null),
        "least" => arguments
            .iter()
            .filter(|value| !value.is_null())
            .cloned()
            .reduce(|one, two| if two.compare(&one) == Some(Ordering::Less) { two } else { one })
            .unwrap_or(Value::Null),
        "abs" if matches!(argument(0), Value::Int(_) | Value::Null) => {
            argument(0).int().map_or(Value::Null, |value| Value::Int(value.saturating_abs()))
        }
        "row" => Value::Record(arguments.to_vec()),
        _ => return None,
    })
}
