//! Columns of Arrow from Python objects: each value fits the column's type exactly, or is refused.

use crate::special_value::{is_document, is_missing, json_text, member_value};
use crate::time_value::nanoseconds;
use atsdb::arrow::array::ArrayRef;
use atsdb::time::DAY_NANOSECONDS;
use atsdb::{ColumnType, ColumnValues, ElementType};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyString};

/// A column that grows.
pub(crate) struct ColumnBuilder {
    form: ValueForm,
    values: ColumnValues,
}

/// How the values of a column, or the elements of its arrays, get to the engine.
#[derive(Clone, Copy, PartialEq)]
enum ValueForm {
    /// As values of the column's type.
    Plain,
    /// As text that the engine reads: decimals, times of day, intervals and UUIDs.
    Written,
    /// As the text of JSON documents.
    Document,
}

impl ColumnBuilder {
    pub(crate) fn new(column_type: ColumnType) -> Self {
        use ColumnType::{Decimal, Interval, Json, Text, Time, Uuid};
        let is_written = |scalar| matches!(scalar, Decimal { .. } | Time | Interval | Uuid);
        match column_type {
            ColumnType::Array(element) if is_written(element.column_type()) => {
                Self { form: ValueForm::Written, values: ColumnValues::new(ColumnType::Array(ElementType::Text)) }
            }
            Json => Self { form: ValueForm::Document, values: ColumnValues::new(Text) },
            scalar if is_written(scalar) => Self { form: ValueForm::Written, values: ColumnValues::new(Text) },
            other => Self { form: ValueForm::Plain, values: ColumnValues::new(other) },
        }
    }

    /// Adds a value; `None` is NULL, and so is what pandas and NumPy have for it. A member of an `enum.Enum` stands for
    /// its value.
    pub(crate) fn push(&mut self, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        push(&mut self.values, self.form, value)
    }

    /// The values since the last call.
    pub(crate) fn finish(&mut self) -> ArrayRef {
        self.values.finish()
    }
}

fn push(values: &mut ColumnValues, form: ValueForm, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let member = value.map(member_value).transpose()?.flatten();
    let Some(value) = member.as_ref().or(value).filter(|value| !value.is_none()) else {
        values.append_null();
        return Ok(());
    };
    // Anything has a text, a missing value, too. Other values are only looked at again if they do not fit.
    let done = if form != ValueForm::Plain && is_missing(value) {
        Err(PyTypeError::new_err("the value is missing"))
    } else {
        push_value(values, form, value)
    };
    match done {
        Err(_) if is_missing(value) => {
            values.append_null();
            Ok(())
        }
        done => done,
    }
}

fn push_value(values: &mut ColumnValues, form: ValueForm, value: &Bound<'_, PyAny>) -> PyResult<()> {
    match values {
        ColumnValues::Bool(builder) => builder.append_value(value.extract::<bool>()?),
        ColumnValues::Int8(builder) => builder.append_value(value.extract()?),
        ColumnValues::Int16(builder) => builder.append_value(value.extract()?),
        ColumnValues::Int32(builder) => builder.append_value(value.extract()?),
        ColumnValues::Int64(builder) => builder.append_value(value.extract()?),
        ColumnValues::UInt8(builder) => builder.append_value(value.extract()?),
        ColumnValues::UInt16(builder) => builder.append_value(value.extract()?),
        ColumnValues::UInt32(builder) => builder.append_value(value.extract()?),
        ColumnValues::UInt64(builder) => builder.append_value(value.extract()?),
        ColumnValues::Float32(builder) => builder.append_value(single(value)?),
        ColumnValues::Float64(builder) => builder.append_value(double(value)?),
        ColumnValues::Text(builder) if form != ValueForm::Plain => match value.cast::<PyString>() {
            Ok(text) => builder.append_value(text.to_str()?),
            Err(_) if form == ValueForm::Document && is_document(value) => {
                builder.append_value(json_text(value)?.to_str()?);
            }
            // `str` of a Decimal, a time or a UUID is its text; that of a timedelta has a comma behind the days.
            Err(_) => builder.append_value(value.str()?.to_str()?.replace(", ", " ")),
        },
        ColumnValues::Text(builder) => builder.append_value(text(value)?.to_str()?),
        ColumnValues::Binary(builder) => match value.cast::<PyBytes>() {
            Ok(bytes) => builder.append_value(bytes.as_bytes()),
            // Not `bytes(5)`, which would be five zeros.
            Err(_) if value.is_instance_of::<PyInt>() => {
                return Err(PyTypeError::new_err("bytes are expected, not an int"));
            }
            // NumPy's missing times have bytes.
            Err(_) if is_missing(value) => return Err(PyTypeError::new_err("the value is missing")),
            Err(_) => builder.append_value(value.py().get_type::<PyBytes>().call1((value,))?.extract::<&[u8]>()?),
        },
        ColumnValues::Timestamp(builder, unit) => builder.append_value(count(value, unit.per_second())?),
        ColumnValues::Date(builder) => {
            let days = match value.is_instance_of::<PyInt>() {
                true => value.extract()?,
                false => exact(value, DAY_NANOSECONDS.into())?,
            };
            builder.append_value(i32::try_from(days).map_err(|_| out_of_range())?);
        }
        ColumnValues::Decimal(_) | ColumnValues::Time(_) | ColumnValues::Interval(_) => {
            unreachable!("the values are written")
        }
        ColumnValues::Array(arrays) => {
            if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
                return Err(PyTypeError::new_err(format!("a list is expected, not a {}", value.get_type().name()?)));
            }
            let elements = value.try_iter()?.collect::<PyResult<Vec<_>>>()?;
            arrays.append(elements.len(), |_, values| {
                elements.iter().try_for_each(|element| push(values, form, Some(element)))
            })?;
        }
    }
    Ok(())
}

fn out_of_range() -> PyErr {
    PyOverflowError::new_err("the value is out of range")
}

/// A float, or an integer that a float holds exactly.
fn double(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let number: f64 = value.extract()?;
    if value.is_instance_of::<PyFloat>() || !value.is_instance_of::<PyInt>() {
        return Ok(number);
    }
    match value.py().get_type::<PyInt>().call1((number,))?.eq(value)? {
        true => Ok(number),
        false => Err(PyValueError::new_err(format!("{value} is not exact as a float"))),
    }
}

/// The nearest 32-bit number, since Python's floats have 64 bits.
fn single(value: &Bound<'_, PyAny>) -> PyResult<f32> {
    let number = double(value)?;
    let nearest = number as f32;
    if nearest.is_infinite() && number.is_finite() { Err(out_of_range()) } else { Ok(nearest) }
}

fn text<'a, 'py>(value: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyString>> {
    value.cast::<PyString>().map_err(|_| {
        let found = value.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
        PyTypeError::new_err(format!("a str is expected, not a value of type {found}"))
    })
}

/// A count of a unit since 1970. An integer is taken as it is.
fn count(value: &Bound<'_, PyAny>, per_second: i64) -> PyResult<i64> {
    match value.is_instance_of::<PyInt>() {
        true => value.extract(),
        false => exact(value, 1_000_000_000 / i128::from(per_second)),
    }
}

/// A point in time as a count of steps of `step` nanoseconds; fails if it is not a whole number of them.
fn exact(value: &Bound<'_, PyAny>, step: i128) -> PyResult<i64> {
    let Some(nanoseconds) = nanoseconds(value)? else {
        let found = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!("a time is expected, not a value of type {found}")));
    };
    if nanoseconds.rem_euclid(step) != 0 {
        return Err(PyValueError::new_err(format!("{value} is finer than the column's unit")));
    }
    i64::try_from(nanoseconds / step).map_err(|_| out_of_range())
}
