//! Texts in which characters are escaped: `unistr`, and `parse_ident`, which reads names as they are written in SQL.

use crate::functions::base::plain::Plain;
use datafusion::arrow::array::builder::{ListBuilder, StringBuilder};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

pub(super) fn functions() -> Vec<ScalarUDF> {
    const TEXT: DataType = DataType::Utf8;
    let names = DataType::new_list(TEXT, true);
    vec![
        Plain::new("unistr", &[&[TEXT]], TEXT, unistr).udf(),
        Plain::new("parse_ident", &[&[TEXT], &[TEXT, DataType::Boolean]], names, parse_ident).udf(),
    ]
}

fn unistr(args: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = args[0].as_string::<i32>().iter().map(|text| text.map(unescaped).transpose());
    Ok(Arc::new(texts.collect::<Result<StringArray>>()?))
}

/// A text with the characters in the place of `\0061`, `\u0061`, `\+000061`, `\U00000061` and `\\`.
fn unescaped(text: &str) -> Result<String> {
    let (mut units, mut rest): (Vec<u16>, &str) = (Vec::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once('\\') {
        units.extend(before.encode_utf16());
        let (prefix, digits) = match after.as_bytes().first() {
            Some(b'\\') => {
                units.push(u16::from(b'\\'));
                rest = &after[1..];
                continue;
            }
            Some(b'u') => (1, 4),
            Some(b'+') => (1, 6),
            Some(b'U') => (1, 8),
            _ => (0, 4),
        };
        let code = after.get(prefix..prefix + digits).filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(code) = code.and_then(|code| u32::from_str_radix(code, 16).ok()) else {
            return exec_err!(
                "invalid Unicode escape: \\{:.10}: write \\XXXX, \\+XXXXXX, \\uXXXX or \\UXXXXXXXX",
                after
            );
        };
        match (u16::try_from(code), char::from_u32(code)) {
            (Ok(0), _) => return exec_err!("invalid Unicode code point: 0"),
            // Two of them may be one character.
            (Ok(unit), _) => units.push(unit),
            (Err(_), Some(character)) => units.extend(character.encode_utf16(&mut [0; 2]).iter()),
            (Err(_), None) => return exec_err!("invalid Unicode code point: {code:04X}"),
        }
        rest = &after[prefix + digits..];
    }
    units.extend(rest.encode_utf16());
    match String::from_utf16(&units) {
        Ok(text) => Ok(text),
        Err(_) => exec_err!("invalid Unicode surrogate pair"),
    }
}

fn parse_ident(args: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = args[0].as_string::<i32>();
    let are_strict = args.get(1).map(|strict| strict.as_boolean());
    let mut names = ListBuilder::new(StringBuilder::new());
    for (row, text) in texts.iter().enumerate() {
        let is_known = are_strict.is_none_or(|strict| strict.is_valid(row));
        match text.filter(|_| is_known) {
            Some(text) => {
                let parts = names_in(text, are_strict.is_none_or(|strict| strict.value(row)))?;
                names.append_value(parts.into_iter().map(Some));
            }
            None => names.append(false),
        }
    }
    Ok(Arc::new(names.finish()))
}

/// The names in `schema."Table"`. If not strict, what follows the last one is ignored.
fn names_in(text: &str, is_strict: bool) -> Result<Vec<String>> {
    let invalid = |what: &str| exec_err!("string is not a valid identifier: \"{text:.100}\"{what}");
    let (mut names, mut rest) = (Vec::new(), text.trim_ascii_start());
    loop {
        if let Some(mut quoted) = rest.strip_prefix('"') {
            let mut name = String::new();
            loop {
                let Some((part, after)) = quoted.split_once('"') else {
                    return invalid(": string has unclosed double quotes");
                };
                name.push_str(part);
                quoted = after;
                match after.strip_prefix('"') {
                    Some(after) => {
                        name.push('"');
                        quoted = after;
                    }
                    None => break,
                }
            }
            if name.is_empty() {
                return invalid(": quoted identifier must not be empty");
            }
            names.push(name);
            rest = quoted;
        } else {
            let is_first = |letter: char| letter.is_ascii_alphabetic() || letter == '_' || !letter.is_ascii();
            if !rest.starts_with(is_first) {
                return invalid(if rest.starts_with('.') { ": no valid identifier before \".\"" } else { "" });
            }
            let is_part = |letter: char| is_first(letter) || letter.is_ascii_digit() || letter == '$';
            let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
            names.push(rest[..end].to_lowercase());
            rest = &rest[end..];
        }
        rest = rest.trim_ascii_start();
        match rest.strip_prefix('.') {
            Some(after) if after.trim_ascii_start().is_empty() => {
                return invalid(": no valid identifier after \".\"");
            }
            Some(after) => rest = after.trim_ascii_start(),
            None if rest.is_empty() || !is_strict => return Ok(names),
            None => return invalid(""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_replaced() {
        for (text, expected) in [
            ("d\\0061t\\+000061", "data"),
            ("\\u0441\\\\", "\u{441}\\"),
            ("\\U0001F600", "\u{1f600}"),
            ("\\D83D\\DE00", "\u{1f600}"),
            ("plain", "plain"),
        ] {
            assert_eq!(unescaped(text).unwrap(), expected, "{text}");
        }
        for text in ["\\", "\\00", "\\u00g1", "\\D83D", "\\UFFFFFFFF", "\\0000", "\\é"] {
            assert!(unescaped(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_read_as_in_sql() {
        let quoted = names_in("\"SomeSchema\".someTable", true).unwrap();
        assert_eq!(quoted, ["SomeSchema", "sometable"]);
        assert_eq!(names_in(" a . \"b\"\"c\" ", true).unwrap(), ["a", "b\"c"]);
        assert_eq!(names_in("f(int)", false).unwrap(), ["f"]);
        for text in ["", "f(int)", "1a", "a.", ".a", "\"a", "\"\"", "a b"] {
            assert!(names_in(text, true).is_err(), "{text}");
        }
    }
}
