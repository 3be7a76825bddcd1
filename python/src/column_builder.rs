//! Columns of Arrow from Python objects: each value fits the column's type exactly, or is refused.

use crate::time_value::nanoseconds;
use atsdb::arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Date32Builder, Float32Builder, Float64Builder, Int8Builder, Int16Builder,
    Int32Builder, Int64Builder, StringBuilder, UInt8Builder, UInt16Builder, UInt32Builder, UInt64Builder,
};
use atsdb::arrow::compute::cast;
use atsdb::{Column, ColumnType, TimeUnit, arrow_schema};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyString};
use std::sync::Arc;

/// A column that grows.
pub(crate) enum ColumnBuilder {
    Bool(BooleanBuilder),
    Int8(Int8Builder),
    Int16(Int16Builder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    UInt8(UInt8Builder),
    UInt16(UInt16Builder),
    UInt32(UInt32Builder),
    UInt64(UInt64Builder),
    Float32(Float32Builder),
    Float64(Float64Builder),
    Text(StringBuilder),
    Binary(BinaryBuilder),
    Timestamp(TimeUnit, Int64Builder),
    Date(Date32Builder),
    /// A decimal, a time of day, an interval, a UUID or JSON, which the engine reads from its text.
    Written(StringBuilder),
}

macro_rules! for_each_builder {
    ($self:expr, $builder:ident => $done:expr) => {
        match $self {
            Self::Bool($builder) => $done,
            Self::Int8($builder) => $done,
            Self::Int16($builder) => $done,
            Self::Int32($builder) => $done,
            Self::Int64($builder) => $done,
            Self::UInt8($builder) => $done,
            Self::UInt16($builder) => $done,
            Self::UInt32($builder) => $done,
            Self::UInt64($builder) => $done,
            Self::Float32($builder) => $done,
            Self::Float64($builder) => $done,
            Self::Text($builder) => $done,
            Self::Binary($builder) => $done,
            Self::Timestamp(_, $builder) => $done,
            Self::Date($builder) => $done,
            Self::Written($builder) => $done,
        }
    };
}

impl ColumnBuilder {
    pub(crate) fn new(column_type: ColumnType) -> Self {
        match column_type {
            ColumnType::Bool => Self::Bool(BooleanBuilder::new()),
            ColumnType::Int8 => Self::Int8(Int8Builder::new()),
            ColumnType::Int16 => Self::Int16(Int16Builder::new()),
            ColumnType::Int32 => Self::Int32(Int32Builder::new()),
            ColumnType::Int64 => Self::Int64(Int64Builder::new()),
            ColumnType::UInt8 => Self::UInt8(UInt8Builder::new()),
            ColumnType::UInt16 => Self::UInt16(UInt16Builder::new()),
            ColumnType::UInt32 => Self::UInt32(UInt32Builder::new()),
            ColumnType::UInt64 => Self::UInt64(UInt64Builder::new()),
            ColumnType::Float32 => Self::Float32(Float32Builder::new()),
            ColumnType::Float64 => Self::Float64(Float64Builder::new()),
            ColumnType::Text => Self::Text(StringBuilder::new()),
            ColumnType::Binary => Self::Binary(BinaryBuilder::new()),
            ColumnType::Timestamp(unit) => Self::Timestamp(unit, Int64Builder::new()),
            ColumnType::Date => Self::Date(Date32Builder::new()),
            ColumnType::Decimal { .. } | ColumnType::Time | ColumnType::Interval => Self::Written(StringBuilder::new()),
            ColumnType::Uuid | ColumnType::Json => Self::Written(StringBuilder::new()),
        }
    }

    /// Adds a value; `None` is NULL.
    pub(crate) fn push(&mut self, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Some(value) = value.filter(|value| !value.is_none()) else {
            for_each_builder!(self, builder => builder.append_null());
            return Ok(());
        };
        match self {
            Self::Bool(builder) => builder.append_value(value.extract::<bool>()?),
            Self::Int8(builder) => builder.append_value(value.extract()?),
            Self::Int16(builder) => builder.append_value(value.extract()?),
            Self::Int32(builder) => builder.append_value(value.extract()?),
            Self::Int64(builder) => builder.append_value(value.extract()?),
            Self::UInt8(builder) => builder.append_value(value.extract()?),
            Self::UInt16(builder) => builder.append_value(value.extract()?),
            Self::UInt32(builder) => builder.append_value(value.extract()?),
            Self::UInt64(builder) => builder.append_value(value.extract()?),
            Self::Float32(builder) => builder.append_value(single(value)?),
            Self::Float64(builder) => builder.append_value(double(value)?),
            Self::Text(builder) => builder.append_value(text(value)?.to_str()?),
            Self::Binary(builder) => match value.cast::<PyBytes>() {
                Ok(bytes) => builder.append_value(bytes.as_bytes()),
                // Not `bytes(5)`, which would be five zeros.
                Err(_) if value.is_instance_of::<PyInt>() => {
                    return Err(PyTypeError::new_err("bytes are expected, not an int"));
                }
                Err(_) => builder.append_value(value.py().get_type::<PyBytes>().call1((value,))?.extract::<&[u8]>()?),
            },
            Self::Written(builder) => match value.cast::<PyString>() {
                Ok(text) => builder.append_value(text.to_str()?),
                // `str` of a Decimal, a time or a UUID is its text; that of a timedelta has a comma behind the days.
                Err(_) => builder.append_value(value.str()?.to_str()?.replace(", ", " ")),
            },
            Self::Timestamp(unit, builder) => builder.append_value(count(value, unit.per_second())?),
            Self::Date(builder) => {
                let days = match value.is_instance_of::<PyInt>() {
                    true => value.extract()?,
                    false => exact(value, 86_400_000_000_000)?,
                };
                builder.append_value(i32::try_from(days).map_err(|_| out_of_range())?);
            }
        }
        Ok(())
    }

    /// The values since the last call, as a column of this definition.
    pub(crate) fn finish(&mut self, column: &Column) -> PyResult<ArrayRef> {
        let values: ArrayRef = for_each_builder!(self, builder => Arc::new(builder.finish()));
        if !matches!(self, Self::Timestamp(..)) {
            return Ok(values);
        }
        let column = Column { map: None, ..column.clone() };
        let mut definition = atsdb::TableDefinition::new("");
        definition.columns.push(column);
        let schema = arrow_schema(&definition);
        cast(&values, schema.field(0).data_type()).map_err(|error| PyTypeError::new_err(error.to_string()))
    }
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
