//! Functions of text and bytes that PostgreSQL has and DataFusion lacks.

use super::keywords::is_keyword;
use super::like_escape::{escaped_pattern, open_end};
use crate::functions::base::plain::Plain;
use crate::text::datafusion_errors::external;
use atsdb_core::hex;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, Int32Array, StringArray, StringBuilder, new_empty_array,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use md5::Digest;
use std::str::FromStr;
use std::sync::Arc;

/// The maximum width of a value in `format`.
const WIDTH_MAX: usize = 1 << 20;

/// The function that a cast to `name` is.
pub const CUT_NAME: &str = "cut_name";

/// The function that a cast to `"char"` is.
pub const CUT_CHAR: &str = "cut_char";

/// The function that a cast to `int2vector` is.
pub const INT2VECTOR: &str = "int2vector_of";

/// The function that a cast to `oidvector` is.
pub const OIDVECTOR: &str = "oidvector_of";

/// The function that `format` with `VARIADIC` and an array of texts is.
pub const FORMAT_ARRAY: &str = "format_array";

/// The maximum length of a `name`.
const NAME_BYTES_MAX: usize = 63;

pub(super) fn functions() -> Vec<ScalarUDF> {
    const TEXT: DataType = DataType::Utf8;
    const BYTES: DataType = DataType::Binary;
    vec![
        Plain::new(CUT_NAME, &[&[TEXT]], TEXT, cut_name).udf(),
        Plain::new(CUT_CHAR, &[&[TEXT]], TEXT, cut_char).udf(),
        Plain::new(INT2VECTOR, &[&[TEXT]], TEXT, |args| vectors::<i16>(args, "int2vector")).udf(),
        Plain::new(OIDVECTOR, &[&[TEXT]], TEXT, |args| vectors::<u32>(args, "oidvector")).udf(),
        Plain::new("like_escape", &[&[TEXT, TEXT]], TEXT, like_escape).udf(),
        Plain::new("like_open_end", &[&[DataType::Boolean]], DataType::Boolean, open_end).udf(),
        Plain::new("md5", &[&[TEXT], &[BYTES]], TEXT, md5_text).udf(),
        Plain::new("sha224", &[&[BYTES], &[TEXT]], BYTES, hashes::<sha2::Sha224>).udf(),
        Plain::new("sha256", &[&[BYTES], &[TEXT]], BYTES, hashes::<sha2::Sha256>).udf(),
        Plain::new("sha384", &[&[BYTES], &[TEXT]], BYTES, hashes::<sha2::Sha384>).udf(),
        Plain::new("sha512", &[&[BYTES], &[TEXT]], BYTES, hashes::<sha2::Sha512>).udf(),
        Plain::new("octet_length", &[&[TEXT], &[BYTES]], DataType::Int32, octet_length).udf(),
        Plain::new("quote_ident", &[&[TEXT]], TEXT, quote_ident).udf(),
        Plain::new("quote_literal", &[&[TEXT]], TEXT, quote_literal).udf(),
        Plain::new("quote_nullable", &[&[TEXT]], TEXT, quote_nullable).udf(),
        Plain::variadic("format", TEXT, format).udf(),
        Plain::variadic(FORMAT_ARRAY, TEXT, format_array).udf(),
    ]
}

fn like_escape(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (patterns, escapes) = (args[0].as_string::<i32>(), args[1].as_string::<i32>());
    let escaped = patterns.iter().zip(escapes).map(|(pattern, escape)| match pattern.zip(escape) {
        Some((pattern, escape)) => escaped_pattern(pattern, escape).map(Some).map_err(external),
        None => Ok(None),
    });
    Ok(Arc::new(escaped.collect::<Result<StringArray>>()?))
}

/// Texts as values of the type `name`: their beginnings, of whole characters.
fn cut_name(args: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = args[0].as_string::<i32>().iter();
    let cut = |text: &str| text[..text.floor_char_boundary(NAME_BYTES_MAX)].to_owned();
    Ok(Arc::new(texts.map(|text| text.map(cut)).collect::<StringArray>()))
}

/// Texts as values of the type `"char"`: their first characters.
fn cut_char(args: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = args[0].as_string::<i32>().iter();
    let first = |text: &str| text.chars().next().map(String::from).unwrap_or_default();
    Ok(Arc::new(texts.map(|text| text.map(first)).collect::<StringArray>()))
}

/// Texts as lists of numbers of a type, with one space between two of them.
fn vectors<T: FromStr + ToString>(args: &[ArrayRef], of: &str) -> Result<ArrayRef> {
    let vector = |text: &str| {
        let numbers = text.split_ascii_whitespace().map(|number| number.parse::<T>().map(|number| number.to_string()));
        match numbers.collect::<std::result::Result<Vec<_>, _>>() {
            Ok(numbers) => Ok(numbers.join(" ")),
            Err(_) => exec_err!("invalid input syntax for type {of}: \"{text:.60}\""),
        }
    };
    let vectors = args[0].as_string::<i32>().iter().map(|text| text.map(vector).transpose());
    Ok(Arc::new(vectors.collect::<Result<StringArray>>()?))
}

fn quote_ident(args: &[ArrayRef]) -> Result<ArrayRef> {
    let names = args[0].as_string::<i32>().iter();
    Ok(Arc::new(names.map(|name| name.map(identifier)).collect::<StringArray>()))
}

fn quote_literal(args: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = args[0].as_string::<i32>().iter();
    Ok(Arc::new(texts.map(|text| text.map(literal)).collect::<StringArray>()))
}

fn quote_nullable(args: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = args[0].as_string::<i32>().iter();
    Ok(Arc::new(texts.map(|text| Some(text.map_or_else(|| "NULL".to_owned(), literal))).collect::<StringArray>()))
}

/// A text as a literal. One with backslashes is an escaped one.
fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if quoted.contains('\\') { format!("E'{}'", quoted.replace('\\', "\\\\")) } else { format!("'{quoted}'") }
}

fn bytes_of(texts: &ArrayRef) -> Result<ArrayRef> {
    Ok(cast(texts, &DataType::Binary)?)
}

fn md5_text(args: &[ArrayRef]) -> Result<ArrayRef> {
    let values = bytes_of(&args[0])?;
    let texts = values.as_binary::<i32>().iter().map(|value| value.map(|value| hex::encode(&md5::Md5::digest(value))));
    Ok(Arc::new(texts.collect::<StringArray>()))
}

fn hashes<D: sha2::Digest>(args: &[ArrayRef]) -> Result<ArrayRef> {
    let values = bytes_of(&args[0])?;
    let hashes = values.as_binary::<i32>().iter().map(|value| value.map(|value| D::digest(value).to_vec()));
    Ok(Arc::new(hashes.collect::<BinaryArray>()))
}

fn octet_length(args: &[ArrayRef]) -> Result<ArrayRef> {
    let values = bytes_of(&args[0])?;
    let lengths = values.as_binary::<i32>().iter().map(|value| value.map(|value| value.len() as i32));
    Ok(Arc::new(lengths.collect::<Int32Array>()))
}

fn format(args: &[ArrayRef]) -> Result<ArrayRef> {
    let Some((patterns, values)) = args.split_first() else { return exec_err!("format takes a pattern") };
    let patterns = cast(patterns, &DataType::Utf8)?;
    let values = values.iter().map(|value| Ok(cast(value, &DataType::Utf8)?)).collect::<Result<Vec<_>>>()?;
    let formatted = (0..patterns.len()).map(|row| {
        let patterns = patterns.as_string::<i32>();
        let row_values = values.iter().map(|value| {
            let value = value.as_string::<i32>();
            value.is_valid(row).then(|| value.value(row))
        });
        patterns.is_valid(row).then(|| formatted(patterns.value(row), &row_values.collect::<Vec<_>>())).transpose()
    });
    Ok(Arc::new(formatted.collect::<Result<StringArray>>()?))
}

/// `format` of the elements of an array of texts. NULL in its place is an array without elements.
fn format_array(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [patterns, arrays] = args else { return exec_err!("format takes a pattern and an array") };
    let Some(arrays) = arrays.as_list_opt::<i32>() else { return exec_err!("format takes an array after VARIADIC") };
    let patterns = cast(patterns, &DataType::Utf8)?;
    let patterns = patterns.as_string::<i32>();
    let mut texts = StringBuilder::new();
    for (row, pattern) in patterns.iter().enumerate() {
        let values = if arrays.is_valid(row) { arrays.value(row) } else { new_empty_array(&DataType::Utf8) };
        let values = cast(&values, &DataType::Utf8)?;
        let values: Vec<Option<&str>> = values.as_string::<i32>().iter().collect();
        texts.append_option(pattern.map(|pattern| formatted(pattern, &values)).transpose()?);
    }
    Ok(Arc::new(texts.finish()))
}

/// A pattern with `%s`, `%I` and `%L` replaced, `%2$s` by the second value, `%-10s` padded, and `%*s` padded to the
/// width that the value before says.
fn formatted(pattern: &str, values: &[Option<&str>]) -> Result<String> {
    let (mut text, mut next, mut rest) = (String::new(), 0, pattern);
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        if let Some(after) = after.strip_prefix('%') {
            text.push('%');
            rest = after;
            continue;
        }
        let (position, spec) = position_of(after)?;
        let is_left = spec.starts_with('-');
        let spec = spec.trim_start_matches('-');
        let digits = spec.bytes().take_while(u8::is_ascii_digit).count();
        let (width, spec) = match spec.strip_prefix('*') {
            Some(after) => {
                let (position, spec) = position_of(after)?;
                let at = position.unwrap_or(next);
                // Without a position of its own, the value is the one after the width.
                next = at + 1;
                (width_of(values.get(at))?, spec)
            }
            None => (spec[..digits].parse::<i64>().unwrap_or(0), &spec[digits..]),
        };
        next = position.unwrap_or(next);
        let Some(letter) = spec.chars().next() else {
            return exec_err!("format: the pattern ends with a single %");
        };
        let Some(value) = values.get(next) else { return exec_err!("format has too few arguments") };
        next += 1;
        let value = match (letter, value) {
            ('s', value) => value.unwrap_or_default().to_owned(),
            ('I', Some(value)) => identifier(value),
            ('I', None) => return exec_err!("format: NULL is not an identifier"),
            ('L', Some(value)) => literal(value),
            ('L', None) => "NULL".to_owned(),
            (letter, _) => return exec_err!("format: unknown specifier %{letter}: use %s, %I, %L or %%"),
        };
        let columns = usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX).min(WIDTH_MAX);
        let padding = " ".repeat(columns.saturating_sub(value.chars().count()));
        match is_left || width < 0 {
            true => text.extend([value, padding]),
            false => text.extend([padding, value]),
        }
        rest = &spec[letter.len_utf8()..];
    }
    text.push_str(rest);
    Ok(text)
}

/// The position before a `$`, from 0, if there is one, and what follows.
fn position_of(spec: &str) -> Result<(Option<usize>, &str)> {
    let Some((digits, after)) = spec.split_once('$') else { return Ok((None, spec)) };
    match digits.parse::<usize>() {
        Ok(0) => exec_err!("format: there is no argument 0"),
        Ok(position) => Ok((Some(position - 1), after)),
        Err(_) => Ok((None, spec)),
    }
}

/// The width that a value states. NULL states none.
fn width_of(value: Option<&Option<&str>>) -> Result<i64> {
    match value {
        None => exec_err!("format has too few arguments"),
        Some(None) => Ok(0),
        Some(Some(width)) => match width.parse::<i64>() {
            Ok(width) => Ok(width),
            Err(_) => exec_err!("format: the width '{width:.20}' is not an integer"),
        },
    }
}

/// A name as `quote_ident` writes it: in quotes if it is a keyword, or has characters other than small letters, digits
/// and `_`.
pub fn identifier(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit())
        && name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && !is_keyword(name);
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_filled_as_postgresql_fills_them() {
        let values = [Some("a"), Some("B c"), None, Some("select"), Some("a\\b"), Some("3")];
        for (pattern, expected) in [
            ("%s is %I", "a is \"B c\""),
            ("%2$L %1$I", "'B c' a"),
            ("100%% %5s|%-3s|", "100%     a|B c|"),
            ("%3$s%3$L", "NULL"),
            ("none", "none"),
            ("%1$-3s|%s|%4$I", "a  |B c|\"select\""),
            ("%5$L", "E'a\\\\b'"),
            ("%6$*6$s", "  3"),
        ] {
            assert_eq!(formatted(pattern, &values).unwrap(), expected, "{pattern}");
        }
        let widths = [Some("4"), Some("a"), Some("-4"), Some("b"), Some("x")];
        assert_eq!(formatted("[%*s][%*s]", &widths).unwrap(), "[   a][b   ]");
        assert_eq!(formatted("[%2$*1$s][%-4s]", &widths).unwrap(), "[   a][-4  ]");
        assert_eq!(formatted("[%*1$s][%s]", &widths).unwrap(), "[   a][-4]");
        assert_eq!(formatted("[%4$*s][%s]", &widths).unwrap(), "[   b][x]");
        assert!(formatted("%5$*5$s", &widths).is_err());
        for pattern in ["%7$s", "%", "%d", "%0$s", "%3$I"] {
            assert!(formatted(pattern, &values).is_err(), "{pattern}");
        }
    }
}
