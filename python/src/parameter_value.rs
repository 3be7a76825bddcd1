//! Python values as values of parameters, each with the SQL type that follows from its Python type. A text has no type:
//! like a quoted text, it is parsed as the type that the statement needs at its place. A member of an enumeration is
//! its value.

use crate::special_value::{is_missing, json_text, member_value};
use crate::time_value::nanoseconds;
use atsdb::arrow::array::{
    Array, Date32Array, Decimal128Array, IntervalMonthDayNanoArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampNanosecondArray,
};
use atsdb::arrow::datatypes::IntervalMonthDayNano;
use atsdb::sql::ParameterValue;
use atsdb::time::DAY_SECONDS;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDate, PyDateTime, PyDelta, PyDeltaAccess, PyFloat, PyInt, PyString};
use pyo3::types::{PyDict, PyList, PyMemoryView, PyTime, PyTuple};

/// The maximum number of digits of a decimal number.
const DECIMAL_DIGITS_MAX: i64 = 38;

/// The maximum number of values around a value: lists, members of enumerations and numbers of NumPy. An object may be
/// its own value, and a list its own element.
const DEPTH_MAX: usize = 32;

/// A value with its type.
pub(crate) fn parameter_value(value: &Bound<'_, PyAny>) -> PyResult<ParameterValue> {
    value_within(value, 0)
}

/// A value that is within `depth` others.
fn value_within(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<ParameterValue> {
    if depth > DEPTH_MAX {
        return Err(too_deep(value)?);
    }
    if let Some(value) = member_value(value)? {
        return value_within(&value, depth + 1);
    }
    if value.is_none() || is_missing(value) {
        return Ok(ParameterValue::null());
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(value.is_true().into());
    }
    if value.is_instance_of::<PyInt>() {
        return integer(value);
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        return Ok(value.value().into());
    }
    if let Ok(value) = value.cast::<PyString>() {
        return Ok(value.to_str()?.into());
    }
    if let Ok(value) = value.cast::<PyBytes>() {
        return Ok(value.as_bytes().into());
    }
    if value.is_instance_of::<PyByteArray>() || value.is_instance_of::<PyMemoryView>() {
        return Ok(value.py().get_type::<PyBytes>().call1((value,))?.cast::<PyBytes>()?.as_bytes().into());
    }
    let is_moment = value.is_instance_of::<PyDateTime>() || value.get_type().name()? == "datetime64";
    if let Some(nanoseconds) = nanoseconds(value)?.filter(|_| is_moment) {
        return timestamp(value, nanoseconds);
    }
    if value.is_instance_of::<PyDate>() {
        let day = value.call_method0("toordinal")?.extract::<i32>()? - 719_163;
        return one(&Date32Array::from(vec![day]));
    }
    if value.is_instance_of::<PyTime>() {
        return time_of_day(value);
    }
    if let Ok(delta) = value.cast::<PyDelta>() {
        return timedelta(delta);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return array(value, depth);
    }
    if value.is_instance_of::<PyDict>() {
        return Ok(json_text(value)?.to_str()?.into());
    }
    match value.get_type().name()?.to_str()? {
        "Decimal" => decimal(value),
        "UUID" => Ok(value.str()?.to_str()?.into()),
        "timedelta64" => timedelta64(value),
        // NumPy's arrays have a length, and its numbers have none.
        _ if value.hasattr("dtype")? && value.hasattr("item")? => match value.len() {
            Ok(_) => array(value, depth),
            Err(_) => value_within(&value.call_method0("item")?, depth + 1),
        },
        name => Err(PyTypeError::new_err(format!("a value of type {name} cannot be a parameter"))),
    }
}

/// The error for a value that is within too many others.
fn too_deep(value: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let name = value.get_type().name()?;
    let message = format!("a value of type {name} contains itself, or is within more than {DEPTH_MAX} others");
    Ok(PyValueError::new_err(message))
}

/// An array of the items of an iterable that is within `depth` others.
fn array(items: &Bound<'_, PyAny>, depth: usize) -> PyResult<ParameterValue> {
    let elements = items.try_iter()?.map(|element| value_within(&element?, depth + 1));
    let elements = elements.collect::<PyResult<Vec<_>>>()?;
    ParameterValue::array(elements).map_err(|error| PyTypeError::new_err(error.to_string()))
}

fn timedelta(delta: &Bound<'_, PyDelta>) -> PyResult<ParameterValue> {
    let seconds = i64::from(delta.get_days()) * DAY_SECONDS + i64::from(delta.get_seconds());
    let microseconds = seconds * 1_000_000 + i64::from(delta.get_microseconds());
    let too_long = || PyValueError::new_err(format!("{delta} is longer than 292 years"));
    // A `pandas.Timedelta` is a `timedelta` with nanoseconds.
    let more = match delta.as_any().getattr_opt("nanoseconds")? {
        Some(nanoseconds) => nanoseconds.extract::<i64>()?,
        None => 0,
    };
    let nanoseconds = microseconds.checked_mul(1_000).and_then(|nanoseconds| nanoseconds.checked_add(more));
    duration(nanoseconds.ok_or_else(too_long)?)
}

fn duration(nanoseconds: i64) -> PyResult<ParameterValue> {
    one(&IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(0, 0, nanoseconds)]))
}

/// A length of time of NumPy, in whatever unit it is counted.
fn timedelta64(value: &Bound<'_, PyAny>) -> PyResult<ParameterValue> {
    let nanoseconds = value.call_method1("astype", ("timedelta64[ns]",))?;
    let same = nanoseconds.call_method1("astype", (value.getattr("dtype")?,))?;
    if !same.eq(value)? {
        return Err(PyValueError::new_err(format!("{value} is not a whole number of nanoseconds")));
    }
    duration(nanoseconds.call_method1("astype", ("int64",))?.extract()?)
}

/// The only value of an array.
fn one(array: &dyn Array) -> PyResult<ParameterValue> {
    ParameterValue::from_array(array, 0).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// BIGINT if the value fits, else BIGINT UNSIGNED, else a decimal number.
fn integer(value: &Bound<'_, PyAny>) -> PyResult<ParameterValue> {
    if let Ok(value) = value.extract::<i64>() {
        return Ok(value.into());
    }
    if let Ok(value) = value.extract::<u64>() {
        return Ok(value.into());
    }
    let number = value.py().get_type::<PyInt>().call_method1("__repr__", (value,))?;
    decimal_of(number.cast::<PyString>()?.to_str()?, 0)
}

/// A time with a zone becomes a time in UTC. A time without a zone stays without; stored, it counts as UTC, too.
fn timestamp(value: &Bound<'_, PyAny>, nanoseconds: i128) -> PyResult<ParameterValue> {
    let has_zone = value.is_instance_of::<PyDateTime>() && !value.getattr("tzinfo")?.is_none();
    let zone = has_zone.then_some("UTC");
    let out_of_range = |_| PyValueError::new_err(format!("the time {value} is out of range"));
    if nanoseconds.rem_euclid(1_000) == 0 {
        let microseconds = i64::try_from(nanoseconds.div_euclid(1_000)).map_err(out_of_range)?;
        return one(&TimestampMicrosecondArray::from(vec![microseconds]).with_timezone_opt(zone));
    }
    let nanoseconds = i64::try_from(nanoseconds).map_err(out_of_range)?;
    one(&TimestampNanosecondArray::from(vec![nanoseconds]).with_timezone_opt(zone))
}

fn time_of_day(value: &Bound<'_, PyAny>) -> PyResult<ParameterValue> {
    if !value.getattr("tzinfo")?.is_none() {
        return Err(PyValueError::new_err(format!("the time of day {value} has a zone, which SQL does not have")));
    }
    let part = |name: &str| -> PyResult<i64> { value.getattr(name)?.extract() };
    let seconds = (part("hour")? * 60 + part("minute")?) * 60 + part("second")?;
    one(&Time64MicrosecondArray::from(vec![seconds * 1_000_000 + part("microsecond")?]))
}

fn decimal(value: &Bound<'_, PyAny>) -> PyResult<ParameterValue> {
    if !value.call_method0("is_finite")?.is_truthy()? {
        return Err(PyValueError::new_err(format!("{value} cannot be a parameter")));
    }
    let exponent: i64 = value.call_method0("as_tuple")?.getattr("exponent")?.extract()?;
    let text = value.call_method1("__format__", ("f",))?;
    decimal_of(text.cast::<PyString>()?.to_str()?, (-exponent).max(0))
}

/// A decimal number from its digits, `scale` of which are after the decimal point.
fn decimal_of(text: &str, scale: i64) -> PyResult<ParameterValue> {
    let too_long = || PyValueError::new_err(format!("{text:.60} has more than {DECIMAL_DIGITS_MAX} digits"));
    let digits: String = text.chars().filter(|letter| *letter != '.').collect();
    let count = digits.trim_start_matches(['-', '0']).len() as i64;
    if count > DECIMAL_DIGITS_MAX || scale > DECIMAL_DIGITS_MAX {
        return Err(too_long());
    }
    let number: i128 = digits.parse().map_err(|_| too_long())?;
    let array =
        Decimal128Array::from(vec![number]).with_precision_and_scale(count.max(scale).max(1) as u8, scale as i8);
    one(&array.map_err(|_| too_long())?)
}
