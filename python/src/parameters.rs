//! The parameters of a statement: `?`, `$1` and `$name`, each replaced by the literal of its value. Texts, names in
//! quotes and comments stay as they are.

use crate::literal::literal;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMapping, PySequence, PyString, PyTuple};

/// A statement's text with its values. A sequence gives `?` and `$1`, a mapping `$name`.
pub(crate) fn bind(py: Python<'_>, text: &str, values: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
    let values = match values.filter(|values| !values.is_none()) {
        None => Values::None,
        Some(values) if values.is_instance_of::<PyTuple>() || values.is_instance_of::<PyList>() => {
            Values::Sequence(values.cast::<PySequence>()?.clone())
        }
        Some(values) if values.is_instance_of::<PyString>() => {
            return Err(PyTypeError::new_err("parameters are a sequence or a mapping, not a str"));
        }
        Some(values) => match values.cast::<PyMapping>() {
            Ok(mapping) => Values::Mapping(mapping.clone()),
            Err(_) => Values::Sequence(values.cast::<PySequence>()?.clone()),
        },
    };
    let (mut bound, mut rest, mut asked) = (String::with_capacity(text.len()), text, 0);
    let mut highest = 0;
    while let Some(found) = rest.find(['\'', '"', '`', '-', '/', '?', '$']) {
        bound.push_str(&rest[..found]);
        let before = bound.chars().next_back();
        rest = &rest[found..];
        let taken = match placeholder(rest, before) {
            Placeholder::None(length) => {
                bound.push_str(&rest[..length]);
                length
            }
            Placeholder::Next => {
                asked += 1;
                bound.push_str(&literal(&values.at(py, asked)?)?);
                1
            }
            Placeholder::Numbered(number, length) => {
                highest = highest.max(number);
                bound.push_str(&literal(&values.at(py, number)?)?);
                length
            }
            Placeholder::Named(length) => {
                bound.push_str(&literal(&values.named(py, &rest[1..length])?)?);
                length
            }
        };
        rest = &rest[taken..];
    }
    bound.push_str(rest);
    values.check_used(py, asked.max(highest))?;
    Ok(bound)
}

/// The values that were passed.
enum Values<'py> {
    None,
    Sequence(Bound<'py, PySequence>),
    Mapping(Bound<'py, PyMapping>),
}

impl<'py> Values<'py> {
    /// The value number `number`, from 1.
    fn at(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Sequence(values) if (1..=values.len()?).contains(&number) => values.get_item(number - 1),
            Self::Sequence(values) => Err(wrong(
                py,
                &format!("the statement has a parameter {number}, but {} values are given", values.len()?),
            )),
            Self::Mapping(_) => Err(wrong(py, "parameters without names need a sequence of values, not a mapping")),
            Self::None => Err(wrong(py, "the statement has parameters, but no values are given")),
        }
    }

    fn named(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Mapping(values) if values.contains(name)? => values.get_item(name),
            Self::Mapping(_) => Err(wrong(py, &format!("no value is given for the parameter ${name}"))),
            Self::Sequence(_) => Err(wrong(py, &format!("the parameter ${name} needs a mapping of values"))),
            Self::None => Err(wrong(py, "the statement has parameters, but no values are given")),
        }
    }

    /// A value too many is as wrong as one too few.
    fn check_used(&self, py: Python<'py>, used: usize) -> PyResult<()> {
        match self {
            Self::Sequence(values) if values.len()? > used => {
                Err(wrong(py, &format!("{} values are given, but the statement has {used} parameters", values.len()?)))
            }
            _ => Ok(()),
        }
    }
}

fn wrong(py: Python<'_>, message: &str) -> PyErr {
    crate::failure::exception(py, &atsdb::Error::new(atsdb::ErrorKind::Sql, message))
}

/// What stands at the beginning of a text.
#[derive(Debug, PartialEq)]
enum Placeholder {
    /// So many bytes that are no parameter.
    None(usize),
    /// `?`
    Next,
    /// `$1`, and its length.
    Numbered(usize, usize),
    /// `$name`, and its length.
    Named(usize),
}

/// What stands at the beginning of a text; `before` is the letter before it.
fn placeholder(text: &str, before: Option<char>) -> Placeholder {
    let until = |from: usize, end: &str| text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    match text.as_bytes() {
        [b'\'', ..] if matches!(before, Some('e' | 'E')) => Placeholder::None(escaped_text(text)),
        [b'\'', ..] => Placeholder::None(until(1, "'")),
        [b'"', ..] => Placeholder::None(until(1, "\"")),
        [b'`', ..] => Placeholder::None(until(1, "`")),
        [b'-', b'-', ..] => Placeholder::None(until(2, "\n")),
        [b'/', b'*', ..] => Placeholder::None(comment(text)),
        [b'?', ..] => Placeholder::Next,
        [b'$', ..] if before.is_some_and(is_word) => Placeholder::None(1),
        [b'$', ..] => {
            let length = 1 + text[1..].find(|letter| !is_word(letter)).unwrap_or(text.len() - 1);
            match &text[1..length] {
                // A text between `$$` or `$tag$`.
                _ if text[length..].starts_with('$') => Placeholder::None(until(length + 1, &text[..=length])),
                "" => Placeholder::None(1),
                name => name.parse().map_or(Placeholder::Named(length), |number| Placeholder::Numbered(number, length)),
            }
        }
        _ => Placeholder::None(1),
    }
}

/// The length of a text in which a backslash escapes.
fn escaped_text(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'\'' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The length of a comment, which may contain comments.
fn comment(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while let Some(found) = text[at..].find(['*', '/']) {
        let rest = &text[at + found..];
        let step = match rest.get(..2) {
            Some("/*") => (1, 2),
            Some("*/") => (-1, 2),
            _ => (0, 1),
        };
        depth += step.0;
        at += found + step.1;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}
