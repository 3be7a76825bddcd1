//! Columns of Arrow as Python objects, each value exactly or not at all.

use crate::time_value::{date, datetime, with_nanosecond};
use atsdb::arrow::array::{Array, ArrayRef, AsArray};
use atsdb::arrow::compute::{cast, filter, is_not_null};
use atsdb::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, DurationMicrosecondType, FieldRef, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType, IntervalUnit, Time64NanosecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use atsdb::time::DAY_MICROSECONDS;
use atsdb::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDelta, PyDict, PyList, PyTime};
use pyo3::{IntoPyObject, IntoPyObjectExt};
use std::sync::Arc;

/// The values of a column as Python objects; NULL is `None`.
pub(crate) fn objects(py: Python<'_>, column: &ArrayRef) -> PyResult<Vec<Py<PyAny>>> {
    match column.data_type() {
        DataType::Null => Ok((0..column.len()).map(|_| py.None()).collect()),
        DataType::Boolean => each(py, column, column.as_boolean(), |values, row| values.value(row).into_py_any(py)),
        DataType::Int8 => numbers::<Int8Type>(py, column),
        DataType::Int16 => numbers::<Int16Type>(py, column),
        DataType::Int32 => numbers::<Int32Type>(py, column),
        DataType::Int64 => numbers::<Int64Type>(py, column),
        DataType::UInt8 => numbers::<UInt8Type>(py, column),
        DataType::UInt16 => numbers::<UInt16Type>(py, column),
        DataType::UInt32 => numbers::<UInt32Type>(py, column),
        DataType::UInt64 => numbers::<UInt64Type>(py, column),
        DataType::Float16 => objects(py, &converted(py, column, &DataType::Float32)?),
        DataType::Float32 => numbers::<Float32Type>(py, column),
        DataType::Float64 => numbers::<Float64Type>(py, column),
        DataType::Utf8 => each(py, column, column.as_string::<i32>(), |texts, row| texts.value(row).into_py_any(py)),
        DataType::LargeUtf8 => objects_of_large(py, column, &DataType::Utf8View),
        DataType::Utf8View => each(py, column, column.as_string_view(), |texts, row| texts.value(row).into_py_any(py)),
        DataType::Binary => each(py, column, column.as_binary::<i32>(), |values, row| bytes(py, values.value(row))),
        DataType::LargeBinary | DataType::FixedSizeBinary(_) => objects_of_large(py, column, &DataType::BinaryView),
        DataType::BinaryView => each(py, column, column.as_binary_view(), |values, row| bytes(py, values.value(row))),
        DataType::Date64 => objects(py, &converted(py, column, &DataType::Date32)?),
        DataType::Date32 => each(py, column, column.as_primitive::<Date32Type>(), |days, row| {
            let found = date(py, days.value(row).into()).map(Bound::unbind);
            found.map_err(|_| refused(py, "a date cannot hold a day before the year 1 or after 9999"))
        }),
        DataType::Timestamp(unit, zone) => timestamps(py, column, *unit, zone.as_deref()),
        DataType::Time32(_) | DataType::Time64(_) => times_of_day(py, column),
        DataType::Duration(_) => durations(py, column),
        DataType::Interval(_) => intervals(py, column),
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            decimals(py, column)
        }
        DataType::Dictionary(..) => of_dictionary(py, column),
        DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
            lists(py, column, element)
        }
        DataType::Struct(_) => structs(py, column),
        other => Err(refused(py, &format!("a column of type {other} cannot be converted to Python objects"))),
    }
}

fn each<'a, A>(
    py: Python<'_>,
    column: &ArrayRef,
    values: &'a A,
    object: impl Fn(&'a A, usize) -> PyResult<Py<PyAny>>,
) -> PyResult<Vec<Py<PyAny>>> {
    (0..column.len()).map(|row| if column.is_null(row) { Ok(py.None()) } else { object(values, row) }).collect()
}

fn numbers<T: ArrowPrimitiveType>(py: Python<'_>, column: &ArrayRef) -> PyResult<Vec<Py<PyAny>>>
where
    T::Native: for<'py> IntoPyObject<'py>,
{
    each(py, column, column.as_primitive::<T>(), |values, row| values.value(row).into_py_any(py))
}

fn bytes(py: Python<'_>, value: &[u8]) -> PyResult<Py<PyAny>> {
    Ok(PyBytes::new(py, value).into_any().unbind())
}

fn converted(py: Python<'_>, column: &ArrayRef, to: &DataType) -> PyResult<ArrayRef> {
    cast(column, to).map_err(|error| refused(py, &error.to_string()))
}

fn objects_of_large(py: Python<'_>, column: &ArrayRef, to: &DataType) -> PyResult<Vec<Py<PyAny>>> {
    objects(py, &converted(py, column, to)?)
}

fn refused(py: Python<'_>, message: &str) -> PyErr {
    let error = Error::new(ErrorKind::InvalidValue, message);
    crate::failure::exception(py, &error.with_hint("read it by .arrow(), or cast it in the query"))
}

fn timestamps(py: Python<'_>, column: &ArrayRef, unit: TimeUnit, zone: Option<&str>) -> PyResult<Vec<Py<PyAny>>> {
    // Microseconds, and nanoseconds beyond them.
    let parts = |row: usize| -> Option<(i64, i64)> {
        match unit {
            TimeUnit::Second => {
                let seconds = column.as_primitive::<TimestampSecondType>().value(row);
                seconds.checked_mul(1_000_000).map(|microseconds| (microseconds, 0))
            }
            TimeUnit::Millisecond => {
                let milliseconds = column.as_primitive::<TimestampMillisecondType>().value(row);
                milliseconds.checked_mul(1_000).map(|microseconds| (microseconds, 0))
            }
            TimeUnit::Microsecond => Some((column.as_primitive::<TimestampMicrosecondType>().value(row), 0)),
            TimeUnit::Nanosecond => {
                let nanoseconds = column.as_primitive::<TimestampNanosecondType>().value(row);
                Some((nanoseconds.div_euclid(1_000), nanoseconds.rem_euclid(1_000)))
            }
        }
    };
    let out_of_range = || refused(py, "a datetime cannot hold a time before the year 1 or after 9999");
    each(py, column, column, |_, row| {
        let (microseconds, nanosecond) = parts(row).ok_or_else(out_of_range)?;
        let moment = datetime(py, microseconds, zone).map_err(|_| out_of_range())?;
        match nanosecond {
            0 => Ok(moment.unbind()),
            _ => with_nanosecond(&moment, nanosecond).map(Bound::unbind),
        }
    })
}

fn times_of_day(py: Python<'_>, column: &ArrayRef) -> PyResult<Vec<Py<PyAny>>> {
    let column = converted(py, column, &DataType::Time64(TimeUnit::Nanosecond))?;
    each(py, &column, column.as_primitive::<Time64NanosecondType>(), |times, row| {
        let (seconds, rest) = (times.value(row) / 1_000_000_000, times.value(row) % 1_000_000_000);
        if rest % 1_000 != 0 {
            return Err(refused(py, "a Python time counts microseconds, but this one has nanoseconds"));
        }
        let (hour, minute, second) = ((seconds / 3_600) as u8, (seconds / 60 % 60) as u8, (seconds % 60) as u8);
        PyTime::new(py, hour, minute, second, (rest / 1_000) as u32, None)?.into_py_any(py)
    })
}

fn timedelta(py: Python<'_>, days: i64, microseconds: i64) -> PyResult<Py<PyAny>> {
    let days = days + microseconds.div_euclid(DAY_MICROSECONDS);
    let rest = microseconds.rem_euclid(DAY_MICROSECONDS);
    let days = i32::try_from(days).map_err(|_| refused(py, "the interval is out of range"))?;
    PyDelta::new(py, days, (rest / 1_000_000) as i32, (rest % 1_000_000) as i32, false)?.into_py_any(py)
}

fn durations(py: Python<'_>, column: &ArrayRef) -> PyResult<Vec<Py<PyAny>>> {
    let type_before = column.data_type().clone();
    let column_after = converted(py, column, &DataType::Duration(TimeUnit::Microsecond))?;
    if &converted(py, &column_after, &type_before)? != column {
        return Err(refused(py, "a timedelta counts microseconds, but this duration is finer or too long"));
    }
    each(py, &column_after, column_after.as_primitive::<DurationMicrosecondType>(), |durations, row| {
        timedelta(py, 0, durations.value(row))
    })
}

fn intervals(py: Python<'_>, column: &ArrayRef) -> PyResult<Vec<Py<PyAny>>> {
    let column = converted(py, column, &DataType::Interval(IntervalUnit::MonthDayNano))?;
    each(py, &column, column.as_primitive::<IntervalMonthDayNanoType>(), |intervals, row| {
        let interval = intervals.value(row);
        if interval.months != 0 || interval.nanoseconds % 1_000 != 0 {
            return Err(refused(py, "a timedelta cannot hold an interval of months or nanoseconds"));
        }
        timedelta(py, interval.days.into(), interval.nanoseconds / 1_000)
    })
}

fn decimals(py: Python<'_>, column: &ArrayRef) -> PyResult<Vec<Py<PyAny>>> {
    let texts = converted(py, column, &DataType::Utf8)?;
    let decimal = py.import("decimal")?.getattr("Decimal")?;
    each(py, &texts, texts.as_string::<i32>(), |texts, row| Ok(decimal.call1((texts.value(row),))?.unbind()))
}

/// Each distinct value becomes one object.
fn of_dictionary(py: Python<'_>, column: &ArrayRef) -> PyResult<Vec<Py<PyAny>>> {
    let dictionary = column.as_any_dictionary();
    let keys = converted(py, &atsdb::arrow::array::make_array(dictionary.keys().to_data()), &DataType::UInt64)?;
    let mut used: Vec<Option<Py<PyAny>>> = (0..dictionary.values().len()).map(|_| None).collect();
    let values = dictionary.values();
    let keys = keys.as_primitive::<UInt64Type>();
    (0..column.len())
        .map(|row| {
            if keys.is_null(row) {
                return Ok(py.None());
            }
            let key = keys.value(row) as usize;
            if let Some(Some(object)) = used.get(key) {
                return Ok(object.clone_ref(py));
            }
            let object = objects(py, &values.slice(key, 1))?.swap_remove(0);
            used[key] = Some(object.clone_ref(py));
            Ok(object)
        })
        .collect()
}

/// The elements of all lists are converted together: decimals, for instance, need preparations for each conversion.
fn lists(py: Python<'_>, column: &ArrayRef, element: &FieldRef) -> PyResult<Vec<Py<PyAny>>> {
    // What is behind a NULL is no value.
    let present = is_not_null(column).and_then(|present| filter(column, &present));
    let present = present.map_err(|error| refused(py, &error.to_string()))?;
    let present = converted(py, &present, &DataType::LargeList(Arc::clone(element)))?;
    let present = present.as_list::<i64>();
    let (first, end) = (present.value_offsets()[0], present.value_offsets()[present.len()]);
    let elements = objects(py, &present.values().slice(first as usize, (end - first) as usize))?;
    let (mut elements, mut lengths) = (elements.into_iter(), present.offsets().lengths());
    let list = |row: usize| -> PyResult<Py<PyAny>> {
        let length = if column.is_valid(row) { lengths.next() } else { None };
        let Some(length) = length else { return Ok(py.None()) };
        PyList::new(py, elements.by_ref().take(length).collect::<Vec<_>>())?.into_py_any(py)
    };
    (0..column.len()).map(list).collect()
}

fn structs(py: Python<'_>, column: &ArrayRef) -> PyResult<Vec<Py<PyAny>>> {
    let fields = column.as_struct();
    let columns = fields.columns().iter().map(|column| objects(py, column)).collect::<PyResult<Vec<_>>>()?;
    each(py, column, fields, |fields, row| {
        let object = PyDict::new(py);
        for (name, values) in fields.column_names().into_iter().zip(&columns) {
            object.set_item(name, values[row].clone_ref(py))?;
        }
        object.into_py_any(py)
    })
}

/// The Python type that the values of a column have, by name.
pub(crate) fn python_type(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Boolean => "bool",
        _ if data_type.is_integer() => "int",
        _ if data_type.is_floating() => "float",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "str",
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => "bytes",
        DataType::Date32 | DataType::Date64 => "date",
        DataType::Timestamp(..) => "datetime",
        DataType::Time32(_) | DataType::Time64(_) => "time",
        DataType::Duration(_) | DataType::Interval(_) => "timedelta",
        DataType::Dictionary(_, values) => python_type(values),
        _ if data_type.is_decimal() => "Decimal",
        DataType::Struct(_) => "dict",
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => "list",
        _ => "None",
    }
}
