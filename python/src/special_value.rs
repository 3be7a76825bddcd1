//! Values of Python that no type of SQL corresponds to: missing values of pandas and NumPy, and documents.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};

/// Whether a value is one that pandas or NumPy has for a missing value, except for `nan`, which is a float.
pub(crate) fn is_missing(value: &Bound<'_, PyAny>) -> bool {
    value.get_type().name().is_ok_and(|name| {
        let is_time = name == "datetime64" || name == "timedelta64";
        name == "NAType" || name == "NaTType" || (is_time && value.str().is_ok_and(|text| text == "NaT"))
    })
}

/// Whether a value is a JSON document as Python has it, and not the text of one.
pub(crate) fn is_document(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyDict>()
        || value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
        || value.is_instance_of::<PyBool>()
}

/// The text of a document, as `json.dumps` writes it.
pub(crate) fn json_text<'py>(document: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    let py = document.py();
    let options = PyDict::new(py);
    options.set_item("ensure_ascii", false)?;
    options.set_item("allow_nan", false)?;
    let text = py.import("json")?.call_method("dumps", (document,), Some(&options))?;
    text.cast_into::<PyString>().map_err(PyErr::from)
}
