//! Python values as literals of SQL. No value can become anything but a literal.

use crate::time_value::nanoseconds;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDate, PyDateTime, PyDelta, PyDeltaAccess, PyFloat, PyInt, PyString};
use pyo3::types::{PyMemoryView, PyTime};

/// The literal of a value.
pub(crate) fn literal(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if value.is_none() {
        return Ok("NULL".to_owned());
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(if value.is_true() { "TRUE" } else { "FALSE" }.to_owned());
    }
    if value.is_instance_of::<PyInt>() {
        // By `int`, so that an enumeration of integers is its number.
        let number = value.py().get_type::<PyInt>().call_method1("__repr__", (value,))?.to_string();
        return Ok(signed(number));
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        return Ok(float(value.value()));
    }
    if let Ok(value) = value.cast::<PyString>() {
        return Ok(quoted(value.to_str()?));
    }
    if let Ok(value) = value.cast::<PyBytes>() {
        return Ok(hex(value.as_bytes()));
    }
    if value.is_instance_of::<PyByteArray>() || value.is_instance_of::<PyMemoryView>() {
        return Ok(hex(value.py().get_type::<PyBytes>().call1((value,))?.cast::<PyBytes>()?.as_bytes()));
    }
    let is_moment = value.is_instance_of::<PyDateTime>() || value.get_type().name()? == "datetime64";
    if let Some(nanoseconds) = nanoseconds(value)?.filter(|_| is_moment) {
        return timestamp(value.py(), nanoseconds);
    }
    if value.is_instance_of::<PyDate>() {
        return Ok(format!("DATE '{}'", value.call_method0("isoformat")?));
    }
    if value.is_instance_of::<PyTime>() {
        return Ok(format!("TIME '{}'", value.call_method0("isoformat")?));
    }
    if let Ok(delta) = value.cast::<PyDelta>() {
        let seconds = i64::from(delta.get_days()) * 86_400 + i64::from(delta.get_seconds());
        let microseconds = i128::from(seconds) * 1_000_000 + i128::from(delta.get_microseconds());
        return Ok(format!("INTERVAL '{microseconds} microseconds'"));
    }
    match value.get_type().name()?.to_str()? {
        "Decimal" => decimal(value),
        "UUID" => Ok(quoted(value.str()?.to_str()?)),
        // NumPy's numbers.
        _ if value.hasattr("dtype")? && value.hasattr("item")? => literal(&value.call_method0("item")?),
        name => Err(PyTypeError::new_err(format!("a value of type {name} cannot be a parameter"))),
    }
}

/// A negative number in parentheses, as `--1` begins a comment.
fn signed(number: String) -> String {
    if number.starts_with('-') { format!("({number})") } else { number }
}

fn float(value: f64) -> String {
    match value {
        _ if value.is_nan() => "CAST('NaN' AS DOUBLE)".to_owned(),
        _ if value.is_infinite() && value > 0.0 => "CAST('Infinity' AS DOUBLE)".to_owned(),
        _ if value.is_infinite() => "CAST('-Infinity' AS DOUBLE)".to_owned(),
        // Minus zero, which a sign before a literal would lose.
        _ if value == 0.0 && value.is_sign_negative() => "CAST('-0' AS DOUBLE)".to_owned(),
        // The shortest text that is this number again, with a point or an exponent.
        _ => signed(format!("{value:?}")),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("X'{digits}'")
}

fn timestamp(py: Python<'_>, nanoseconds: i128) -> PyResult<String> {
    let out_of_range = |_| PyValueError::new_err("the time is out of range");
    let microseconds = i64::try_from(nanoseconds.div_euclid(1_000)).map_err(out_of_range)?;
    let moment = crate::time_value::datetime(py, microseconds, None)?;
    let text = moment.call_method1("isoformat", (" ", "microseconds"))?;
    match nanoseconds.rem_euclid(1_000) {
        // Beyond the years that 64 bits of nanoseconds reach, a literal would not do.
        0 if i64::try_from(nanoseconds).is_err() => Ok(format!("CAST('{text}' AS TIMESTAMP(6))")),
        0 => Ok(format!("TIMESTAMP '{text}'")),
        more => Ok(format!("CAST('{text}{more:03}' AS TIMESTAMP(9))")),
    }
}

/// With as many digits behind the point as it has.
fn decimal(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if !value.call_method0("is_finite")?.is_truthy()? {
        return Err(PyValueError::new_err(format!("{value} cannot be a parameter")));
    }
    let exponent: i64 = value.call_method0("as_tuple")?.getattr("exponent")?.extract()?;
    let text = value.call_method1("__format__", ("f",))?;
    Ok(format!("CAST('{text}' AS DECIMAL(38, {}))", (-exponent).max(0)))
}
