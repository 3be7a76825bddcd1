//! `to_char` with PostgreSQL's patterns (`YYYY-MM-DD HH24:MI:SS`) and those of strftime, which contain a `%`.

use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use atsdb_core::Error;
use datafusion::arrow::array::{ArrayRef, AsArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, Documentation, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature};
use std::sync::Arc;

/// PostgreSQL's patterns and the equivalent ones of strftime. `FM` before a pattern removes padding. An empty one marks
/// an unsupported pattern that begins like a supported one.
const PATTERNS: [(&str, &str); 34] = [
    ("YYYY", "%Y"),
    ("IYYY", "%G"),
    ("YY", "%y"),
    ("IY", "%g"),
    ("FMMonth", "%B"),
    ("Mon", "%b"),
    ("FMMM", "%-m"),
    ("MM", "%m"),
    ("FMMI", "%-M"),
    ("MI", "%M"),
    ("MS", "%3f"),
    ("US", "%6f"),
    ("FMDay", "%A"),
    ("Dy", "%a"),
    ("FMDDD", "%-j"),
    ("DDD", "%j"),
    ("FMDD", "%-d"),
    ("DD", "%d"),
    ("ID", "%u"),
    ("IW", "%V"),
    ("FMHH24", "%-H"),
    ("HH24", "%H"),
    ("FMHH12", "%-I"),
    ("HH12", "%I"),
    ("HH", "%I"),
    ("FMSS", "%-S"),
    ("SS", "%S"),
    ("AM", "%p"),
    ("PM", "%p"),
    ("am", "%P"),
    ("pm", "%P"),
    ("Month", ""),
    ("SSSS", ""),
    ("IDDD", ""),
];

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ToChar {
    inner: Arc<ScalarUDF>,
}

impl ToChar {
    pub(super) fn new(inner: Arc<ScalarUDF>) -> Self {
        Self { inner }
    }
}

impl ScalarUDFImpl for ToChar {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
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
        let is_time = args.args.first().is_some_and(|value| !matches!(value.data_type(), DataType::Duration(_)));
        if let Some(format) = args.args.get_mut(1).filter(|_| is_time) {
            *format = strftime_of(format)?;
        }
        self.inner.invoke_with_args(args)
    }
}

fn strftime_of(format: &ColumnarValue) -> Result<ColumnarValue> {
    match format {
        ColumnarValue::Scalar(ScalarValue::Utf8(Some(format))) => {
            Ok(ColumnarValue::Scalar(ScalarValue::from(strftime(format).map_err(external)?)))
        }
        ColumnarValue::Scalar(_) => Ok(format.clone()),
        ColumnarValue::Array(formats) => {
            let formats = cast(formats, &DataType::Utf8)?;
            let translated = formats.as_string::<i32>().iter().map(|format| format.map(strftime).transpose());
            let translated = translated.collect::<std::result::Result<StringArray, Error>>().map_err(external)?;
            Ok(ColumnarValue::Array(Arc::new(translated) as ArrayRef))
        }
    }
}

/// Translates a pattern to strftime's.
fn strftime(format: &str) -> std::result::Result<String, Error> {
    if format.contains('%') {
        return Ok(format.to_owned());
    }
    let mut translated = String::with_capacity(format.len() * 2);
    let mut rest = format;
    while let Some(first) = rest.chars().next() {
        if first == '"' {
            let (text, after) = rest[1..].split_once('"').unwrap_or((&rest[1..], ""));
            translated.push_str(text);
            rest = after;
        } else if first.is_ascii_alphabetic() {
            let (pattern, strftime) = PATTERNS
                .iter()
                .filter(|(pattern, _)| rest.starts_with(pattern))
                .max_by_key(|(pattern, _)| pattern.len())
                .filter(|(_, strftime)| !strftime.is_empty())
                .ok_or_else(|| unknown(format, rest))?;
            translated.push_str(strftime);
            rest = &rest[pattern.len()..];
        } else {
            translated.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    Ok(translated)
}

fn unknown(format: &str, rest: &str) -> Error {
    let word: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
    sql_error(format!("to_char: '{format:.60}' has the unknown pattern {word}")).with_hint(
        "YYYY YY MM Mon FMMonth DD DDD Dy FMDay HH24 HH12 MI SS MS US AM IYYY IW ID, text in double quotes, or \
         strftime's, such as '%Y-%m-%d'",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_postgresql_become_those_of_strftime() {
        for (format, expected) in [
            ("YYYY-MM-DD HH24:MI:SS.MS", "%Y-%m-%d %H:%M:%S.%3f"),
            ("YYYYMMDD\"T\"HH24MISS", "%Y%m%dT%H%M%S"),
            ("FMDay, FMDD. FMMonth", "%A, %-d. %B"),
            ("IYYY-\"W\"IW-ID DDD", "%G-W%V-%u %j"),
            ("%H:%M", "%H:%M"),
            ("", ""),
        ] {
            assert_eq!(strftime(format).unwrap(), expected);
        }
        for format in ["Day", "MONTH", "Month", "yyyy", "Q", "FMQ", "SSSS", "IDDD"] {
            let error = strftime(format).unwrap_err().to_string();
            assert!(error.contains(&format!("unknown pattern {format}")), "{error}");
        }
    }
}
