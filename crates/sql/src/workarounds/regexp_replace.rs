//! `regexp_replace` with PostgreSQL's replacements: `\&` is the whole match, `\\` a backslash, and `$` a plain
//! character. DataFusion takes `$1` for a group, and every backslash for the start of one.
//!
//! No upstream issue known.

use datafusion::arrow::array::{AsArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{ColumnarValue, Documentation, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature};
use std::sync::Arc;

/// Stands for a plain backslash until texts have been replaced: a character for private use.
const BACKSLASH: char = '\u{f05c}';

/// Replaces DataFusion's `regexp_replace`.
pub(super) fn register(context: &SessionContext) {
    if let Some(inner) = context.state().scalar_functions().get("regexp_replace") {
        context.register_udf(ScalarUDF::new_from_impl(RegexpReplace { inner: Arc::clone(inner) }));
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RegexpReplace {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for RegexpReplace {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
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
    fn backslashes_are_read_as_postgresql_reads_them() {
        for (text, wanted) in
            [("[\\&]", "[${0}]"), ("\\1$1", "${1}$$1"), ("\\\\1", "\u{f05c}1"), ("\\x\\", "\u{f05c}x\u{f05c}")]
        {
            assert_eq!(translated(text), wanted, "{text}");
        }
        assert_eq!(restored(&translated("a\\\\b")), "a\\b");
    }
}
