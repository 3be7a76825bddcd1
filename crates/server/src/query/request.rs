//! The content of a request: a text, values for its parameters, and a format.

use super::format::Format;
use atsdb::sql::ParameterValue;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;

/// The content of a request.
#[derive(Debug)]
pub(crate) struct SqlRequest {
    pub(crate) sql: String,
    /// The values of `$1`, `$2`, and so on.
    pub(crate) values: Vec<ParameterValue>,
    pub(crate) format: Format,
}

/// The body of a POST with JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonBody {
    sql: String,
    #[serde(default)]
    params: Vec<Value>,
    #[serde(default)]
    format: Option<String>,
}

impl SqlRequest {
    /// Reads a GET: `?sql=TEXT&format=F`. An error is a message.
    pub(crate) fn of_query(query: &HashMap<String, String>) -> Result<Self, String> {
        let sql = query.get("sql").or_else(|| query.get("q")).ok_or("the parameter sql is missing")?;
        Ok(Self { sql: sql.clone(), values: Vec::new(), format: format_of(query, None)? })
    }

    /// Reads a POST: JSON with `sql`, `params` and `format`, or the text itself.
    pub(crate) fn of_body(query: &HashMap<String, String>, headers: &HeaderMap, body: &[u8]) -> Result<Self, String> {
        let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if media_type.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("application/json")) {
            let body: JsonBody = serde_json::from_slice(body).map_err(|error| format!("the body: {error}"))?;
            let values = body.params.into_iter().map(value).collect::<Result<_, _>>()?;
            return Ok(Self { sql: body.sql, values, format: format_of(query, body.format.as_deref())? });
        }
        let sql = std::str::from_utf8(body).map_err(|_| "the text is not UTF-8")?.to_owned();
        Ok(Self { sql, values: Vec::new(), format: format_of(query, None)? })
    }
}

fn format_of(query: &HashMap<String, String>, in_body: Option<&str>) -> Result<Format, String> {
    match in_body.or_else(|| query.get("format").map(String::as_str)) {
        Some(name) => Format::parse(name),
        None => Ok(Format::default()),
    }
}

/// Converts a JSON value to a parameter's value. A text stays text, whatever it looks like.
fn value(value: Value) -> Result<ParameterValue, String> {
    match value {
        Value::Null => Ok(ParameterValue::null()),
        Value::Bool(value) => Ok(value.into()),
        Value::String(text) => Ok(text.into()),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(int), ..) => Ok(int.into()),
            (_, Some(uint), _) => Ok(uint.into()),
            (_, _, Some(float)) => Ok(float.into()),
            _ => Err(format!("{number} is not a valid parameter")),
        },
        other => Err(format!("{other} is not a valid parameter: use null, booleans, numbers and texts")),
    }
}
