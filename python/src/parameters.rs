//! The parameters of a statement: `?`, `$1` and `$name` become `$1`, `$2` and so on, and their values keep their types.
//! Texts, quoted names and comments stay as they are.

use crate::parameter_value::parameter_value;
use atsdb::arrow::datatypes::DataType;
use atsdb::sql::ParameterValue;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMapping, PySequence, PyString, PyTuple};
use std::fmt::Write;

/// Statements whose parameters are numbered, and the value of each number.
pub(crate) struct NumberedText {
    pub(crate) text: String,
    pub(crate) values: Vec<ParameterValue>,
}

impl NumberedText {
    /// The types that follow from the Python values. A text and NULL get the type of their place in the statement.
    pub(crate) fn declared_types(&self) -> Vec<Option<DataType>> {
        let own = |value: &ParameterValue| match value.data_type() {
            DataType::Utf8 | DataType::Null => None,
            other => Some(other),
        };
        self.values.iter().map(own).collect()
    }
}

/// A text with its values. A sequence gives `?` and `$1`, a mapping `$name`.
pub(crate) fn numbered(py: Python<'_>, text: &str, values: Option<&Bound<'_, PyAny>>) -> PyResult<NumberedText> {
    let given = match values.filter(|values| !values.is_none()) {
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
    let (mut numbered, mut rest, mut asked, mut highest) = (String::with_capacity(text.len() + 8), text, 0, 0);
    let mut names: Vec<&str> = Vec::new();
    while let Some(found) = rest.find(['\'', '"', '`', '-', '/', '?', '$']) {
        numbered.push_str(&rest[..found]);
        let before = numbered.chars().next_back();
        rest = &rest[found..];
        let (number, length) = match placeholder(rest, before) {
            Placeholder::None(length) => {
                numbered.push_str(&rest[..length]);
                rest = &rest[length..];
                continue;
            }
            Placeholder::Next => {
                asked += 1;
                (given.checked(py, asked)?, 1)
            }
            Placeholder::Numbered(number, length) => (given.checked(py, number)?, length),
            Placeholder::Named(length) => {
                let name = &rest[1..length];
                let known = names.iter().position(|known| *known == name);
                let at = known.unwrap_or_else(|| {
                    names.push(name);
                    names.len() - 1
                });
                (at + 1, length)
            }
        };
        highest = highest.max(number);
        rest = &rest[length..];
        // `?1` is no `$11`.
        let end = if rest.starts_with(is_word) { " " } else { "" };
        let _ = write!(numbered, "${number}{end}");
    }
    numbered.push_str(rest);
    given.check_used(py, highest)?;
    let value = |number: usize| parameter_value(&given.at(py, number, &names)?);
    let values = (1..=highest).map(value).collect::<PyResult<_>>()?;
    Ok(NumberedText { text: numbered, values })
}

/// The values that were passed.
enum Values<'py> {
    None,
    Sequence(Bound<'py, PySequence>),
    Mapping(Bound<'py, PyMapping>),
}

impl<'py> Values<'py> {
    /// A number that has a value.
    fn checked(&self, py: Python<'py>, number: usize) -> PyResult<usize> {
        match self {
            Self::Sequence(values) if (1..=values.len()?).contains(&number) => Ok(number),
            Self::Sequence(values) => Err(wrong(
                py,
                &format!("the statement has a parameter {number}, but {} values are given", values.len()?),
            )),
            Self::Mapping(_) => Err(wrong(py, "parameters without names need a sequence of values, not a mapping")),
            Self::None => Err(wrong(py, "the statement has parameters, but no values are given")),
        }
    }

    /// The value of a number, which is that of one of the names if the statement has names.
    fn at(&self, py: Python<'py>, number: usize, names: &[&str]) -> PyResult<Bound<'py, PyAny>> {
        let name = names.get(number - 1).copied().unwrap_or_default();
        match self {
            Self::Sequence(_) if !names.is_empty() => {
                Err(wrong(py, &format!("the parameter ${name} needs a mapping of values")))
            }
            Self::Sequence(values) => values.get_item(number - 1),
            Self::Mapping(values) if values.contains(name)? => values.get_item(name),
            Self::Mapping(_) => Err(wrong(py, &format!("no value is given for the parameter ${name}"))),
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

/// The first piece of a text.
#[derive(Debug, PartialEq)]
enum Placeholder {
    /// This many bytes contain no parameter.
    None(usize),
    /// `?`
    Next,
    /// `$1`, and its length.
    Numbered(usize, usize),
    /// `$name`, and its length.
    Named(usize),
}

/// Returns the first piece of a text; `before` is the letter before it.
fn placeholder(text: &str, before: Option<char>) -> Placeholder {
    let until = |from: usize, end: &str| text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
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

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
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
