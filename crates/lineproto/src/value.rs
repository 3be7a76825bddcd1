//! The value of a field.

use crate::scan::text_end;

/// A value as it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value<'a> {
    Float(f64),
    Int(i64),
    UInt(u64),
    Bool(bool),
    /// The bytes between the quotes, and whether there are escapes in them.
    Text(&'a [u8], bool),
}

impl Value<'_> {
    /// The name of its type in InfluxDB's messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Float(_) => "float",
            Self::Int(_) => "integer",
            Self::UInt(_) => "unsigned",
            Self::Bool(_) => "boolean",
            Self::Text(..) => "string",
        }
    }
}

/// Reads the value at `at`, and moves `at` behind it.
pub(crate) fn read_value<'a>(body: &'a [u8], at: &mut usize) -> Result<Value<'a>, String> {
    let start = *at;
    if body.get(start) == Some(&b'"') {
        let (end, has_escapes) = text_end(body, start + 1).ok_or("unbalanced quotes")?;
        *at = end + 1;
        return Ok(Value::Text(&body[start + 1..end], has_escapes));
    }
    let length = body[start..].iter().position(|byte| matches!(byte, b',' | b' ' | b'\n' | b'\r'));
    let written = &body[start..length.map_or(body.len(), |length| start + length)];
    *at = start + written.len();
    number_or_bool(written).ok_or_else(|| match written {
        [] => "missing field value".to_owned(),
        _ => format!("invalid field value {:?}", shown(written)),
    })
}

fn number_or_bool<'a>(written: &[u8]) -> Option<Value<'a>> {
    let (last, before) = written.split_last()?;
    match last {
        b'i' if is_number(before) => lexical_core::parse(before).ok().map(Value::Int),
        b'u' if before.first().is_some_and(u8::is_ascii_digit) => lexical_core::parse(before).ok().map(Value::UInt),
        b'0'..=b'9' | b'.' if is_number(written) => {
            lexical_core::parse(written).ok().filter(|value: &f64| value.is_finite()).map(Value::Float)
        }
        _ => match written {
            b"t" | b"T" | b"true" | b"True" | b"TRUE" => Some(Value::Bool(true)),
            b"f" | b"F" | b"false" | b"False" | b"FALSE" => Some(Value::Bool(false)),
            _ => None,
        },
    }
}

/// Returns whether the text begins like a number. Words such as NaN do not count.
fn is_number(written: &[u8]) -> bool {
    match written {
        [b'-' | b'+', rest @ ..] => rest.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.'),
        [first, ..] => first.is_ascii_digit() || *first == b'.',
        [] => false,
    }
}

/// The beginning of some bytes, for a message.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
    if bytes.len() > 80 { format!("{text}...") } else { text }
}

#[cfg(test)]
mod tests {
    use super::{Value, read_value};

    fn read(text: &str) -> Result<Value<'_>, String> {
        read_value(text.as_bytes(), &mut 0)
    }

    #[test]
    fn every_type_is_read() {
        assert_eq!(read("1,"), Ok(Value::Float(1.0)));
        assert_eq!(read("-1.5e3 "), Ok(Value::Float(-1500.0)));
        assert_eq!(read(".5"), Ok(Value::Float(0.5)));
        assert_eq!(read("1."), Ok(Value::Float(1.0)));
        assert_eq!(read("-9223372036854775808i"), Ok(Value::Int(i64::MIN)));
        assert_eq!(read("18446744073709551615u"), Ok(Value::UInt(u64::MAX)));
        for text in ["t", "T", "true", "True", "TRUE"] {
            assert_eq!(read(text), Ok(Value::Bool(true)));
        }
        assert_eq!(read("FALSE\n"), Ok(Value::Bool(false)));
        assert_eq!(read(r#""a\"b""#), Ok(Value::Text(br#"a\"b"#, true)));
        assert_eq!(read("\"\""), Ok(Value::Text(b"", false)));
    }

    #[test]
    fn what_is_no_value_is_refused() {
        let wrong = [
            "",
            "x",
            "NaN",
            "nan",
            "inf",
            "-inf",
            "+Infinity",
            "1e",
            "1e999",
            "--1",
            "1i1",
            "i",
            "-i",
            "-1u",
            "+1u",
            "1.5i",
            "1.5u",
            "9223372036854775808i",
            "0x10",
            "1_000",
            "tRUE",
            "\"",
            "\"a",
            "\"a\\\"",
            ".",
            "-",
            "-.",
            "1f",
        ];
        for text in wrong {
            assert!(read(text).is_err(), "{text:?} is {:?}", read(text));
        }
    }
}
