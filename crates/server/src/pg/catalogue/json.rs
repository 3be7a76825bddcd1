//! `json_build_object`, by which SQLAlchemy asks for the sequences of identity columns.

use super::value::Value;
use crate::pg::error::PgError;

/// The object of names and values that alternate, as PostgreSQL writes it.
pub(super) fn json_object(arguments: &[Value]) -> Result<Value, PgError> {
    if !arguments.len().is_multiple_of(2) {
        let error = PgError::error("22023", "argument list must have even number of elements");
        return Err(
            error.with_hint("The arguments of json_build_object() must consist of alternating keys and values.")
        );
    }
    let mut members = Vec::new();
    for (position, pair) in arguments.chunks_exact(2).enumerate() {
        let Some(name) = pair[0].shown() else {
            let error = PgError::error("22023", format!("argument {} cannot be null", 2 * position + 1));
            return Err(error.with_hint("Object keys should be text."));
        };
        members.push(format!("{} : {}", json_text(&name), json_value(&pair[1])));
    }
    Ok(Value::Text(format!("{{{}}}", members.join(", "))))
}

fn json_value(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(json_value).collect::<Vec<_>>().join(",")),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Numeric(_) => value.shown().unwrap_or_default(),
        other => other.shown().map_or_else(|| "null".to_owned(), |text| json_text(&text)),
    }
}

fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
