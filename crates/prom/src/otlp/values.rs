//! Converts the values of attributes to text.

use super::convert::Converter;
use super::points::Attributes;
use crate::remote::fields::{FieldValue, Fields, text};
use crate::remote::{RemoteError, check_label_count};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// The maximum nesting depth of values.
const DEPTH_MAX: usize = 32;

/// An attribute of protocol buffers, added as a text.
pub(super) fn push_attribute(
    message: &[u8],
    attributes: &mut Attributes,
    converter: &mut Converter,
) -> Result<(), RemoteError> {
    let (name, value) = pair(message, 0, converter)?;
    push(attributes, name, value)
}

/// Adds an attribute. There are at most as many as a series may have labels.
fn push(attributes: &mut Attributes, name: &str, value: Value) -> Result<(), RemoteError> {
    check_label_count(attributes.len() + 1)?;
    attributes.push((name.to_owned(), shown(value)));
    Ok(())
}

fn pair<'a>(message: &'a [u8], depth: usize, converter: &mut Converter) -> Result<(&'a str, Value), RemoteError> {
    let mut fields = Fields::new(message);
    let (mut name, mut found) = ("", Value::Null);
    while let Some(field) = fields.next()? {
        match field {
            (1, FieldValue::Bytes(bytes)) => name = text(bytes)?,
            (2, FieldValue::Bytes(message)) => found = value(message, depth, converter)?,
            _ => {}
        }
    }
    Ok((name, found))
}

/// A value. Those in it take more memory than bytes of the message.
fn value(message: &[u8], depth: usize, converter: &mut Converter) -> Result<Value, RemoteError> {
    if depth > DEPTH_MAX {
        return Err(RemoteError::malformed("a value is nested too deep"));
    }
    let mut fields = Fields::new(message);
    let mut found = Value::Null;
    while let Some(field) = fields.next()? {
        found = match field {
            (1, FieldValue::Bytes(bytes)) => text(bytes)?.into(),
            (2, FieldValue::Varint(number)) => (number != 0).into(),
            (3, FieldValue::Varint(number)) => (number as i64).into(),
            (4, FieldValue::Fixed64(bits)) => number(f64::from_bits(bits)),
            (5, FieldValue::Bytes(message)) => {
                let mut all = Vec::new();
                let mut fields = Fields::new(message);
                while let Some(field) = fields.next()? {
                    if let (1, FieldValue::Bytes(message)) = field {
                        converter.spend(size_of::<Value>())?;
                        all.push(value(message, depth + 1, converter)?);
                    }
                }
                Value::Array(all)
            }
            (6, FieldValue::Bytes(message)) => {
                let mut all = Map::new();
                let mut fields = Fields::new(message);
                while let Some(field) = fields.next()? {
                    if let (1, FieldValue::Bytes(message)) = field {
                        converter.spend(size_of::<(String, Value)>())?;
                        let (name, value) = pair(message, depth + 1, converter)?;
                        all.insert(name.to_owned(), value);
                    }
                }
                Value::Object(all)
            }
            (7, FieldValue::Bytes(bytes)) => STANDARD.encode(bytes).into(),
            _ => found,
        };
    }
    Ok(found)
}

/// The attributes of JSON, added as texts.
pub(super) fn attributes_of_json(all: &Value) -> Result<Attributes, RemoteError> {
    let mut attributes = Vec::new();
    for pair in all.as_array().into_iter().flatten() {
        if let Some(name) = pair["key"].as_str() {
            push(&mut attributes, name, plain(&pair["value"]))?;
        }
    }
    Ok(attributes)
}

/// A value of OTLP's JSON as plain JSON. Its depth is bounded by the parser.
fn plain(value: &Value) -> Value {
    let Some((kind, value)) = value.as_object().and_then(|object| object.iter().next()) else { return Value::Null };
    match kind.as_str() {
        "intValue" => {
            value.as_str().and_then(|text| text.parse::<i64>().ok()).map_or_else(|| value.clone(), Value::from)
        }
        "doubleValue" => value.as_f64().map_or_else(|| value.clone(), number),
        "arrayValue" => value["values"].as_array().into_iter().flatten().map(plain).collect(),
        "kvlistValue" => {
            let pairs = value["values"].as_array().into_iter().flatten();
            Value::Object(
                pairs
                    .map(|pair| (pair["key"].as_str().unwrap_or_default().to_owned(), plain(&pair["value"])))
                    .collect(),
            )
        }
        _ => value.clone(),
    }
}

/// Formats a number. A whole number has no fraction; NaN and infinities become text.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return (value as i64).into();
    }
    json!(value).as_f64().map_or_else(|| value.to_string().into(), Value::from)
}

/// Returns a text unchanged and any other value as JSON. A missing value becomes an empty text.
fn shown(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_texts() {
        let json = json!([
            { "key": "t", "value": { "stringValue": "x" } },
            { "key": "i", "value": { "intValue": "7" } },
            { "key": "d", "value": { "doubleValue": 1.5 } },
            { "key": "w", "value": { "doubleValue": 2.0 } },
            { "key": "b", "value": { "boolValue": true } },
            { "key": "a", "value": { "arrayValue": { "values": [{ "intValue": "1" }, { "stringValue": "y" }] } } },
            { "key": "k", "value": { "kvlistValue": { "values": [{ "key": "n", "value": { "intValue": 1 } }] } } },
            { "key": "e", "value": {} }
        ]);
        let texts: Vec<String> = attributes_of_json(&json).unwrap().into_iter().map(|pair| pair.1).collect();
        assert_eq!(texts, ["x", "7", "1.5", "2", "true", "[1,\"y\"]", "{\"n\":1}", ""]);
    }
}
