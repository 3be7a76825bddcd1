//! The parameters of a statement, `?`, `$1` or `$name`, and their values, which keep their types.

use crate::failure::exception;
use crate::parameter_value::parameter_value;
use atsdb::arrow::datatypes::DataType;
use atsdb::sql::{NumberedText, ParameterValue};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMapping, PySequence, PyString, PyTuple};

/// Statements whose parameters are numbered, and the value of each number.
pub(crate) struct BoundText {
    pub(crate) text: String,
    pub(crate) values: Vec<ParameterValue>,
}

impl BoundText {
    /// The types of the values. A text, NULL and an array of these have no type: the statement determines it.
    pub(crate) fn declared_types(&self) -> Vec<Option<DataType>> {
        let own = |value: &ParameterValue| match value.data_type() {
            DataType::Utf8 | DataType::Null => None,
            DataType::List(element) if matches!(element.data_type(), DataType::Utf8 | DataType::Null) => None,
            other => Some(other),
        };
        self.values.iter().map(own).collect()
    }
}

/// Binds values to the parameters of a text. A sequence has the values of `?` and `$1`, a mapping those of `$name`.
pub(crate) fn bound(py: Python<'_>, text: &str, values: Option<&Bound<'_, PyAny>>) -> PyResult<BoundText> {
    let passed = match values.filter(|values| !values.is_none()) {
        None => PassedValues::None,
        Some(values) if values.is_instance_of::<PyTuple>() || values.is_instance_of::<PyList>() => {
            PassedValues::Sequence(values.cast::<PySequence>()?.clone())
        }
        Some(values) if values.is_instance_of::<PyString>() => {
            return Err(PyTypeError::new_err("parameters are a sequence or a mapping, not a str"));
        }
        Some(values) => match values.cast::<PyMapping>() {
            Ok(mapping) => PassedValues::Mapping(mapping.clone()),
            Err(_) => PassedValues::Sequence(values.cast::<PySequence>()?.clone()),
        },
    };
    let NumberedText { text, names } = NumberedText::new(text).map_err(|error| exception(py, &error))?;
    passed.check_used(py, names.len())?;
    let value = |(at, name): (usize, &Option<String>)| {
        let value = passed.value(py, at, name.as_deref())?;
        parameter_value(&value).map_err(|error| unfit(py, at, name.as_deref(), error))
    };
    let values = names.iter().enumerate().map(value).collect::<PyResult<_>>()?;
    Ok(BoundText { text, values })
}

/// The values that were passed.
enum PassedValues<'py> {
    None,
    Sequence(Bound<'py, PySequence>),
    Mapping(Bound<'py, PyMapping>),
}

impl<'py> PassedValues<'py> {
    /// The value of the parameter at a position, counted from 0, which may have a name.
    fn value(&self, py: Python<'py>, at: usize, name: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        let message = match (self, name) {
            (Self::Sequence(values), None) if at < values.len()? => return values.get_item(at),
            (Self::Mapping(values), Some(name)) if values.contains(name)? => return values.get_item(name),
            (Self::Sequence(values), None) => {
                format!("the statement has a parameter {}, but {} values are given", at + 1, values.len()?)
            }
            (Self::Sequence(_), Some(name)) => format!("the parameter ${name} needs a mapping of values"),
            (Self::Mapping(_), Some(name)) => format!("no value is given for the parameter ${name}"),
            (Self::Mapping(_), None) => "parameters without names need a sequence of values, not a mapping".to_owned(),
            (Self::None, _) => "the statement has parameters, but no values are given".to_owned(),
        };
        Err(wrong(py, &message))
    }

    /// Refuses more values than the statement has parameters.
    fn check_used(&self, py: Python<'py>, used: usize) -> PyResult<()> {
        match self {
            Self::Sequence(values) if values.len()? > used => {
                Err(wrong(py, &format!("{} values are given, but the statement has {used} parameters", values.len()?)))
            }
            _ => Ok(()),
        }
    }
}

/// The error of a value that no parameter can have, with the parameter at a position, which may have a name. Errors of
/// its type stay as they are.
fn unfit(py: Python<'_>, at: usize, name: Option<&str>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyValueError>(py) {
        return error;
    }
    let parameter = name.map_or_else(|| (at + 1).to_string(), |name| format!("${name}"));
    exception(py, &atsdb::Error::invalid(format!("parameter {parameter}: {}", error.value(py))))
}

fn wrong(py: Python<'_>, message: &str) -> PyErr {
    exception(py, &atsdb::Error::new(atsdb::ErrorKind::Sql, message))
}
