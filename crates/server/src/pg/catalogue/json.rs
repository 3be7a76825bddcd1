//! JSON: `json_build_object`, by which SQLAlchemy asks for the sequences of identity columns, and `row_to_json`, by
//! which pgAdmin asks what the server does.

use super::relation::ColumnName;
use super::value::Value;
use crate::pg::error::PgError;
use crate::pg::types::known;

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

/// The object of a row, as `row_to_json` writes it.
pub(super) fn json_row(fields: &[(&ColumnName, &Value)]) -> Value {
    let members: Vec<String> = fields.iter().map(|(column, value)| member(column, value)).collect();
    Value::Text(format!("{{{}}}", members.join(",")))
}

fn member(column: &ColumnName, value: &Value) -> String {
    let text = |text: Option<String>| text.map_or_else(|| "null".to_owned(), |text| json_text(&text));
    let value = match (column.type_id, value) {
        (known::JSON | known::JSONB, Value::Text(json)) => json.clone(),
        (known::OID, number) => text(number.shown()),
        (_, Value::Time(_)) => text(value.shown().map(|time| time.replacen(' ', "T", 1) + ":00")),
        (_, value) => json_value(value),
    };
    format!("{}:{value}", json_text(&column.name))
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
