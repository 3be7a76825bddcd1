//! Errors as Python exceptions: one class for each kind of error, made from the table of kinds.

use atsdb::sql::sqlstate_of;
use atsdb::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

/// The name of a kind of exception, the exception of PEP 249 that its class is derived from, and its general SQLSTATE.
type ExceptionKind = (&'static str, &'static str, &'static str);

/// A NULL in a column that is NOT NULL. Such an error has the kind of wrong values, and its SQLSTATE tells it from
/// them: all of class 23 are errors of integrity.
const NOT_NULL_VIOLATION: ExceptionKind = ("not_null_violation", "IntegrityError", "23502");

/// The kinds of exceptions: those of errors, and that of a NULL.
pub(crate) fn kinds() -> Vec<ExceptionKind> {
    let of_errors = ErrorKind::ALL.iter().map(|kind| (kind.name(), kind.python_base(), kind.sqlstate()));
    of_errors.chain([NOT_NULL_VIOLATION]).collect()
}

/// The exception of an error, with its message, hint, kind and SQLSTATE.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let sqlstate = sqlstate_of(error);
    let kind = if sqlstate == NOT_NULL_VIOLATION.2 { NOT_NULL_VIOLATION.0 } else { error.kind().name() };
    match classes(py).and_then(|classes| {
        let class = classes.as_any().get_item(kind)?;
        class.call1((error.message(), error.hint(), sqlstate))
    }) {
        Ok(exception) => PyErr::from_value(exception),
        Err(failure) => failure,
    }
}

/// A result whose error is an exception.
pub(crate) fn raised<T>(py: Python<'_>, done: atsdb::Result<T>) -> PyResult<T> {
    done.map_err(|error| exception(py, &error))
}

/// The classes by the names of their kinds, which `atsdb.errors` makes.
fn classes(py: Python<'_>) -> PyResult<&Bound<'_, PyDict>> {
    static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let load = || -> PyResult<Py<PyDict>> {
        let classes = py.import("atsdb.errors")?.getattr("BY_KIND")?;
        Ok(classes.cast_into::<PyDict>()?.unbind())
    };
    CLASSES.get_or_try_init(py, load).map(|classes| classes.bind(py))
}
