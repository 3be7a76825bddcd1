//! `regexp_replace` with PostgreSQL's replacements: `\&` is the whole match, `\\` a backslash, and `$` a plain
//! character. DataFusion mistakes `$1` for a group, and every backslash for the start of one. With the flag `g`, an
//! empty match directly after another one is replaced, too, which it is not in DataFusion. The arguments `start` and
//! `n`, the character from which matches count and the number of the one that is replaced, are unknown to DataFusion.
//!
//! A part of a text, such as the host of a URL, is often extracted by a pattern with a [head](head_of) and `.*$`. The
//! head matches the same text in many rows of a batch, and the groups of each such text are found only once.
//!
//! No upstream issue known.

use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::arguments::text_of;
use crate::functions::base::of_inner::of_inner;
use crate::functions::texts::expressions::{Expression, ExpressionsOfRows};
use crate::functions::texts::regexps;
use crate::text::backtracking_patterns::may_backtrack;
use crate::text::pattern_heads::head_of;
use datafusion::arrow::array::{Array, AsArray, StringArray, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use std::collections::HashMap;
use std::sync::Arc;

/// The types of the arguments of a call with a start: text, pattern, replacement, start, number of the match, flags.
const WITH_START: [DataType; 6] =
    [DataType::Utf8, DataType::Utf8, DataType::Utf8, DataType::Int64, DataType::Int64, DataType::Utf8];

/// The position of the pattern.
const PATTERN: usize = 1;

/// The position of the replacement.
const REPLACEMENT: usize = 2;

/// The position of the start. Without a start, the flags are there.
const START: usize = 3;

/// The position of the flags behind a start.
const FLAGS: usize = 5;

/// Replaces DataFusion's `regexp_replace`.
pub(crate) fn register(context: &SessionContext) {
    if let Some(inner) = context.state().scalar_functions().get("regexp_replace") {
        let types = vec![TypeSignature::UserDefined, inner.signature().type_signature.clone()];
        let signature = Signature::one_of(types, Volatility::Immutable);
        context.register_udf(ScalarUDF::new_from_impl(RegexpReplace { inner: Arc::clone(inner), signature }));
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RegexpReplace {
    inner: Arc<ScalarUDF>,
    signature: Signature,
}

impl ScalarUDFImpl for RegexpReplace {
    of_inner!(name, documentation);

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The types of a call with a start.
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let fits = |(of, wanted): (&DataType, &DataType)| match (wanted, of) {
            (_, DataType::Null) => true,
            (DataType::Int64, of) => of.is_integer(),
            (_, DataType::Dictionary(_, values)) => values.is_string(),
            (_, of) => of.is_string(),
        };
        // A parameter without a type may be a start or flags, but behind flags nothing follows.
        let has_start = types.len() > START + 1 || types.get(START).is_some_and(DataType::is_integer);
        if has_start && types.len() <= WITH_START.len() && types.iter().zip(&WITH_START).all(fits) {
            return Ok(WITH_START[..types.len()].to_vec());
        }
        plan_err!("{} does not take these arguments", self.name())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.get(START) {
            Some(DataType::Int64) => Ok(DataType::Utf8),
            _ => self.inner.return_type(types),
        }
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if args.args.get(START).is_some_and(|start| start.data_type() == DataType::Int64) {
            return replaced_from(&args);
        }
        if !args.return_type().is_null() {
            if let Some(replaced) = replaced_by_head(&args)? {
                return Ok(replaced);
            }
            if !is_of_datafusion(&args.args) {
                return replaced_by_row(&args);
            }
        }
        if let Some(ColumnarValue::Scalar(replacement)) = args.args.get_mut(REPLACEMENT) {
            *replacement = with_translated(replacement.clone());
        }
        self.inner.invoke_with_args(args)
    }
}

/// Returns whether DataFusion replaces as PostgreSQL does: the first match of a constant pattern without look-around
/// and references to groups, with no flag but `i`, by a constant without plain backslashes, which DataFusion cannot
/// write.
fn is_of_datafusion(args: &[ColumnarValue]) -> bool {
    let is_constant_without = |at: usize, has: fn(&str) -> bool| match args.get(at) {
        Some(ColumnarValue::Scalar(text)) => !text_of(text).is_some_and(has),
        Some(ColumnarValue::Array(_)) => false,
        None => true,
    };
    is_constant_without(PATTERN, may_backtrack)
        && is_constant_without(REPLACEMENT, |written| translated(written).contains('\\'))
        && is_constant_without(START, |flags| flags.contains(|letter: char| letter != 'i'))
}

/// Replaces by a constant pattern that has a [head](head_of). `None` if it has none, or if the replacement contains the
/// whole match, of which the head is only a part.
fn replaced_by_head(args: &ScalarFunctionArgs) -> Result<Option<ColumnarValue>> {
    let [ColumnarValue::Array(texts), ColumnarValue::Scalar(pattern), ColumnarValue::Scalar(replacement)] =
        args.args.as_slice()
    else {
        return Ok(None);
    };
    let (Some(pattern), Some(replacement)) = (text_of(pattern), text_of(replacement)) else { return Ok(None) };
    let Some(head) = head_of(pattern).filter(|_| !replacement.contains("\\&")) else { return Ok(None) };
    let (texts, replacement) = (cast(texts, &DataType::Utf8)?, translated(replacement));
    let mut replacements: HashMap<&str, String> = HashMap::new();
    let mut replaced = StringBuilder::with_capacity(texts.len(), 0);
    for text in texts.as_string::<i32>() {
        let Some(found) = text.and_then(|text| head.find(text)) else {
            replaced.append_option(text);
            continue;
        };
        replaced.append_value(replacements.entry(found.as_str()).or_insert_with_key(|found| {
            let mut expanded = String::new();
            if let Some(groups) = head.captures(found) {
                groups.expand(&replacement, &mut expanded);
            }
            expanded
        }));
    }
    Ok(Some(ColumnarValue::Array(cast(&replaced.finish(), args.return_type())?)))
}

/// Replaces the first match of each row, or all of them with the flag `g`.
fn replaced_by_row(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let is_constant = are_constant(&args.args);
    let arrays = ColumnarValue::values_to_arrays(&args.args)?;
    let columns = arrays.iter().map(|array| cast(array, &DataType::Utf8)).collect::<Result<Vec<_>, _>>()?;
    let (mut expressions, mut replacements) = (ExpressionsOfRows::default(), ReplacementsOfRows::default());
    let mut replaced = Vec::with_capacity(columns[0].len());
    for row in 0..columns[0].len() {
        if columns.iter().any(|column| column.is_null(row)) {
            replaced.push(None);
            continue;
        }
        let value = |at: usize| columns.get(at).map_or("", |column| column.as_string::<i32>().value(row));
        let flags = value(START);
        let matches = Matches { from: 0, number: if flags.contains('g') { None } else { Some(0) } };
        let expression = expressions.of(value(PATTERN), flags)?;
        let replacement = replacements.of(value(REPLACEMENT));
        replaced.push(Some(replace(expression, value(0), replacement, matches)?));
    }
    let replaced = cast(&StringArray::from(replaced), args.return_type())?;
    answer(is_constant, replaced)
}

/// Replaces the matches from a character on: the first one, the one that a number names, or all if it is 0.
fn replaced_from(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let is_constant = are_constant(&args.args);
    let arrays = ColumnarValue::values_to_arrays(&args.args)?;
    let [texts, patterns, written] = [0, 1, 2].map(|at| arrays[at].as_string::<i32>());
    let (mut expressions, mut replacements) = (ExpressionsOfRows::default(), ReplacementsOfRows::default());
    let mut replaced = Vec::with_capacity(texts.len());
    for row in 0..texts.len() {
        if arrays.iter().any(|column| column.is_null(row)) {
            replaced.push(None);
            continue;
        }
        let (text, pattern) = (texts.value(row), patterns.value(row));
        let flags = arrays.get(FLAGS).map_or("", |flags| flags.as_string::<i32>().value(row));
        let start = regexps::number(arrays.get(START), row, "start", 1, 1)?;
        let number = regexps::number(arrays.get(START + 1), row, "n", 1, 0)?;
        let expression = expressions.of(pattern, flags)?;
        replaced.push(Some(match regexps::byte_of(text, start) {
            Some(from) => {
                let matches = Matches { from, number: number.checked_sub(1) };
                replace(expression, text, replacements.of(written.value(row)), matches)?
            }
            None => text.to_owned(),
        }));
    }
    let replaced = StringArray::from(replaced);
    answer(is_constant, Arc::new(replaced))
}

/// The replacements of rows in DataFusion's notation. One that is the same as in the row before it is translated once.
#[derive(Default)]
struct ReplacementsOfRows {
    written: String,
    translated: String,
}

impl ReplacementsOfRows {
    fn of(&mut self, written: &str) -> &str {
        if self.written != written {
            (self.written, self.translated) = (written.to_owned(), translated(written));
        }
        &self.translated
    }
}

/// The matches that are replaced.
#[derive(Clone, Copy)]
struct Matches {
    /// The byte from which they count.
    from: usize,
    /// The number of the only one, from 0; `None` for all.
    number: Option<usize>,
}

/// Replaces matches by a replacement in DataFusion's notation.
fn replace(expression: &Expression, text: &str, replacement: &str, matches: Matches) -> Result<String> {
    let mut replaced = String::with_capacity(text.len());
    let mut copied = 0;
    for (count, groups) in expression.matches(text, matches.from).enumerate() {
        let groups = groups?;
        if matches.number.is_none_or(|number| number == count) {
            let whole = groups.whole();
            replaced.push_str(&text[copied..whole.start]);
            groups.expand(replacement, &mut replaced);
            copied = whole.end;
        }
        if matches.number == Some(count) {
            break;
        }
    }
    replaced.push_str(&text[copied..]);
    Ok(replaced)
}

/// A replacement in DataFusion's notation, of the same type.
fn with_translated(written: ScalarValue) -> ScalarValue {
    match written {
        ScalarValue::Utf8(Some(text)) => ScalarValue::Utf8(Some(translated(&text))),
        ScalarValue::Utf8View(Some(text)) => ScalarValue::Utf8View(Some(translated(&text))),
        ScalarValue::LargeUtf8(Some(text)) => ScalarValue::LargeUtf8(Some(translated(&text))),
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
                translated.push('\\');
                letters.next();
            }
            (other, _) => translated.push(other),
        }
    }
    translated
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::texts::expressions::expression_of;

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
            let everywhere = Matches { from: 0, number: None };
            assert_eq!(replace(&expression, text, "x", everywhere).unwrap(), wanted, "{text} {pattern}");
        }
    }

    #[test]
    fn one_match_is_replaced_by_its_number() {
        for (text, pattern, from, number, wanted) in [
            ("abcabc", "b", 0, Some(0), "axcabc"),
            ("abcabc", "b", 2, Some(0), "abcaxc"),
            ("abcabc", "b", 0, Some(2), "abcabc"),
            ("abcabc", "b", 2, None, "abcaxc"),
            ("abc", "b*", 0, Some(1), "axc"),
            ("abc", "^b", 1, Some(0), "abc"),
            ("abc", "b*", 3, Some(0), "abcx"),
        ] {
            let expression = expression_of(pattern, "").unwrap();
            let found = replace(&expression, text, "x", Matches { from, number }).unwrap();
            assert_eq!(found, wanted, "{text} {pattern} {from}");
        }
    }

    #[test]
    fn each_row_has_its_own_replacement() {
        let mut replacements = ReplacementsOfRows::default();
        for (written, wanted) in [("", ""), ("\\1", "${1}"), ("\\1", "${1}"), ("$", "$$"), ("", ""), ("\\1", "${1}")] {
            assert_eq!(replacements.of(written), wanted);
        }
    }

    #[test]
    fn backslashes_are_read_as_postgresql_reads_them() {
        for (text, wanted) in
            [("[\\&]", "[${0}]"), ("\\1$1", "${1}$$1"), ("\\\\1", "\\1"), ("\\x\\", "\\x\\"), ("a\\\\b", "a\\b")]
        {
            assert_eq!(translated(text), wanted, "{text}");
        }
    }
}
