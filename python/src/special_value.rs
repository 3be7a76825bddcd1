//! Values of Python that no type of SQL corresponds to: missing values of pandas and NumPy, members of enumerations,
//! and documents.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple, PyType};

/// Whether a value is one that pandas or NumPy has for a missing value, except for `nan`, which is a float.
pub(crate) fn is_missing(value: &Bound<'_, PyAny>) -> bool {
    value.get_type().name().is_ok_and(|name| {
        let is_time = name == "datetime64" || name == "timedelta64";
        name == "NAType" || name == "NaTType" || (is_time && value.str().is_ok_and(|text| text == "NaT"))
    })
}

/// The value of a member of an `enum.Enum`; `None` for any other object.
pub(crate) fn member_value<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    static ENUMERATION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let (py, class) = (object.py(), object.get_type());
    // The classes of most objects are plain. Those of enumerations are made by a class of their own.
    if class.is_exact_instance_of::<PyType>() {
        return Ok(None);
    }
    let load = || -> PyResult<Py<PyAny>> { Ok(py.import("enum")?.getattr("Enum")?.unbind()) };
    let enumeration = ENUMERATION.get_or_try_init(py, load)?.bind(py);
    if object.is_instance(enumeration)? { object.getattr("value").map(Some) } else { Ok(None) }
}

/// Whether a value is a JSON document as Python has it, and not the text of one.
pub(crate) fn is_document(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyDict>()
        || value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
        || value.is_instance_of::<PyBool>()
}

/// The text of a document, as `atsdb.documents` writes it.
pub(crate) fn json_text<'py>(document: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    let text = document.py().import("atsdb.documents")?.call_method1("json_text", (document,))?;
    text.cast_into::<PyString>().map_err(PyErr::from)
}
