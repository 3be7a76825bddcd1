//! `regexp_replace` with PostgreSQL's replacements: `\&` is the whole match, `\\` a backslash, and `$` a plain
//! character. DataFusion takes `$1` for a group, and every backslash for the start of one. With the flag `g`, an empty
//! match directly behind another one is replaced, too, which it is not in DataFusion.
//!
//! No upstream issue known.

use crate::functions::base::of_inner::of_inner;
use datafusion::arrow::array::{AsArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use regex::Regex;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// Stands for a plain backslash until texts have been replaced: a character for private use.
const BACKSLASH: char = '\u{f05c}';

/// Replaces DataFusion's `regexp_replace`.
pub(crate) fn register(context: &SessionContext) {
    if let Some(inner) = context.state().scalar_functions().get("regexp_replace") {
        context.register_udf(ScalarUDF::new_from_impl(RegexpReplace { inner: Arc::clone(inner) }));
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RegexpReplace {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for RegexpReplace {
    of_inner!(name, signature, return_type, documentation);

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(ColumnarValue::Scalar(flags)) = args.args.get(3)
            && let Some(Some(flags)) = flags.try_as_str()
            && flags.contains('g')
        {
            let flags = flags.replace('g', "");
            return replaced_everywhere(&args, &flags);
        }
        if let Some(replacement) = args.args.get_mut(2) {
            *replacement = match replacement {
                ColumnarValue::Scalar(text) => ColumnarValue::Scalar(with_text(text.clone(), translated)),
                ColumnarValue::Array(texts) => {
                    let plain = cast(texts, &DataType::Utf8)?;
                    let texts_of_rows = plain.as_string::<i32>().iter().map(|text| text.map(translated));
                    ColumnarValue::Array(cast(&texts_of_rows.collect::<StringArray>(), texts.data_type())?)
                }
            };
        }
        let replaced = self.inner.invoke_with_args(args)?;
        Ok(match replaced {
            ColumnarValue::Scalar(text) => ColumnarValue::Scalar(with_text(text, restored)),
            ColumnarValue::Array(texts) => {
                let plain = cast(&texts, &DataType::Utf8)?;
                if plain.as_string::<i32>().iter().flatten().all(|text| !text.contains(BACKSLASH)) {
                    return Ok(ColumnarValue::Array(texts));
                }
                let texts_of_rows = plain.as_string::<i32>().iter().map(|text| text.map(restored));
                ColumnarValue::Array(cast(&texts_of_rows.collect::<StringArray>(), texts.data_type())?)
            }
        })
    }
}

/// Replaces all matches.
fn replaced_everywhere(args: &ScalarFunctionArgs, flags: &str) -> Result<ColumnarValue> {
    let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
    let arrays = ColumnarValue::values_to_arrays(&args.args)?;
    let texts = arrays.iter().take(3).map(|array| cast(array, &DataType::Utf8)).collect::<Result<Vec<_>, _>>()?;
    let rows = texts[0].as_string::<i32>().iter().zip(texts[1].as_string::<i32>()).zip(texts[2].as_string::<i32>());
    let mut expressions: HashMap<&str, Regex> = HashMap::new();
    let mut replaced = Vec::with_capacity(texts[0].len());
    for ((text, pattern), replacement) in rows {
        let (Some(text), Some(pattern), Some(replacement)) = (text, pattern, replacement) else {
            replaced.push(None);
            continue;
        };
        let expression = match expressions.entry(pattern) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(expression_of(pattern, flags)?),
        };
        replaced.push(Some(restored(&replace_all(expression, text, &translated(replacement)))));
    }
    let replaced = cast(&StringArray::from(replaced), args.return_type())?;
    match is_constant {
        true => ScalarValue::try_from_array(&replaced, 0).map(ColumnarValue::Scalar),
        false => Ok(ColumnarValue::Array(replaced)),
    }
}

/// A pattern with flags.
pub(crate) fn expression_of(pattern: &str, flags: &str) -> Result<Regex> {
    let pattern = if flags.is_empty() { pattern.to_owned() } else { format!("(?{flags}){pattern}") };
    Regex::new(&pattern).or_else(|error| exec_err!("Regular expression did not compile: {error}"))
}

/// Replaces each match by a replacement in DataFusion's notation. The search continues behind a match, or one character
/// behind an empty one.
fn replace_all(expression: &Regex, text: &str, replacement: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let (mut copied, mut from) = (0, 0);
    while from <= text.len()
        && let Some(found) = expression.captures_at(text, from)
    {
        let Some(whole) = found.get(0) else { break };
        replaced.push_str(&text[copied..whole.start()]);
        found.expand(replacement, &mut replaced);
        copied = whole.end();
        let next = text[copied..].chars().next().map_or(1, char::len_utf8);
        from = if whole.is_empty() { copied + next } else { copied };
    }
    replaced.push_str(&text[copied..]);
    replaced
}

/// The same value with another text.
fn with_text(value: ScalarValue, change: fn(&str) -> String) -> ScalarValue {
    match value {
        ScalarValue::Utf8(Some(text)) => ScalarValue::Utf8(Some(change(&text))),
        ScalarValue::Utf8View(Some(text)) => ScalarValue::Utf8View(Some(change(&text))),
        ScalarValue::LargeUtf8(Some(text)) => ScalarValue::LargeUtf8(Some(change(&text))),
        other => other,
    }
}

/// A replacement in DataFusion's notation.
fn translated(text: &str) -> String {
    let (mut translated, mut letters) = (String::with_capacity(text.len()), text.chars().peekable());
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('$', _) => translated.push_str("$$"),
            ('\\', Some('&')) => {
                translated.push_str("${0}");
                letters.next();
            }
            ('\\', Some(digit @ '1'..='9')) => {
                translated.extend(["${", &digit.to_string(), "}"]);
                letters.next();
            }
            ('\\', Some('\\')) => {
                translated.push(BACKSLASH);
                letters.next();
            }
            ('\\', _) => translated.push(BACKSLASH),
            (other, _) => translated.push(other),
        }
    }
    translated
}

fn restored(text: &str) -> String {
    text.replace(BACKSLASH, "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_matches_are_replaced_where_postgresql_replaces_them() {
        for (text, pattern, wanted) in [
            ("abc", ".*", "xx"),
            ("abc", "b*", "xaxxcx"),
            ("", ".*", "x"),
            ("abcabc", "b*", "xaxxcxaxxcx"),
            ("abc", "$", "abcx"),
            ("abc", "^", "xabc"),
            ("\u{e9}a", "b*", "x\u{e9}xax"),
            ("abab", "a", "xbxb"),
        ] {
            let expression = expression_of(pattern, "").unwrap();
            assert_eq!(replace_all(&expression, text, "x"), wanted, "{text} {pattern}");
        }
    }

    #[test]
    fn backslashes_are_read_as_postgresql_reads_them() {
        for (text, wanted) in
            [("[\\&]", "[${0}]"), ("\\1$1", "${1}$$1"), ("\\\\1", "\u{f05c}1"), ("\\x\\", "\u{f05c}x\u{f05c}")]
        {
            assert_eq!(translated(text), wanted, "{text}");
        }
        assert_eq!(restored(&translated("a\\\\b")), "a\\b");
    }
}
