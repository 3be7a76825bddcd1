//! The options of `atsdb.open`. Each is read by itself, so that an error names it.

use crate::declare::durability;
use crate::failure::{exception, raised};
use atsdb::duration::parse_duration;
use atsdb::size::parse_size;
use atsdb::{Durability, Error};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::time::Duration;

/// The keyword arguments of `atsdb.open`.
pub(crate) struct StoreOptions {
    pub(crate) durability: Durability,
    pub(crate) create: bool,
    pub(crate) read_only: bool,
    pub(crate) maintenance: bool,
    pub(crate) password: Option<String>,
    pub(crate) cache_bytes: Option<usize>,
    pub(crate) memory_bytes: Option<usize>,
    pub(crate) temp_bytes: Option<u64>,
    pub(crate) threads: Option<usize>,
    pub(crate) timeout: Option<Duration>,
}

impl StoreOptions {
    /// Reads the attributes of an object.
    pub(crate) fn read(options: &Bound<'_, PyAny>) -> PyResult<Self> {
        const FLAG: &str = "True or False";
        let durability_name: String = required(options, "durability", "a text")?;
        Ok(Self {
            durability: raised(options.py(), durability(&durability_name))?,
            create: required(options, "create", FLAG)?,
            read_only: required(options, "read_only", FLAG)?,
            maintenance: required(options, "maintenance", FLAG)?,
            password: optional(options, "password", "a text")?,
            cache_bytes: memory(options, "cache_bytes")?,
            memory_bytes: memory(options, "memory_bytes")?,
            temp_bytes: byte_count(options, "temp_bytes")?,
            threads: optional(options, "threads", "an int")?,
            timeout: duration(options, "timeout")?,
        })
    }
}

fn required<'py, T: FromPyObjectOwned<'py>>(options: &Bound<'py, PyAny>, name: &str, wanted: &str) -> PyResult<T> {
    let value = options.getattr(name)?;
    value.extract::<T>().map_err(|_| wrong(name, &value, wanted))
}

/// An option that may be `None`.
fn optional<'py, T: FromPyObjectOwned<'py>>(
    options: &Bound<'py, PyAny>,
    name: &str,
    wanted: &str,
) -> PyResult<Option<T>> {
    if options.getattr(name)?.is_none() {
        return Ok(None);
    }
    required(options, name, wanted).map(Some)
}

/// The text of an option that is a text.
fn text(options: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<String>> {
    let value = options.getattr(name)?;
    value.cast::<PyString>().ok().map(|text| Ok(text.to_str()?.to_owned())).transpose()
}

/// A number of bytes: an `int`, or a text such as `256 MiB`.
fn byte_count(options: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<u64>> {
    match text(options, name)? {
        Some(text) => raised(options.py(), parse_size(&text).map_err(|error| error.context(name))).map(Some),
        None => optional(options, name, "a number of bytes, such as 268435456 or '256 MiB'"),
    }
}

/// A number of bytes that this process can have.
fn memory(options: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<usize>> {
    let bytes = byte_count(options, name)?.map(usize::try_from).transpose();
    raised(options.py(), bytes.map_err(|_| Error::usage(format!("{name}: a process cannot have so many bytes"))))
}

/// A length of time: seconds as a number, or a text such as `500ms`.
fn duration(options: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Duration>> {
    if let Some(text) = text(options, name)? {
        return raised(options.py(), parse_duration(&text).map_err(|error| error.context(name))).map(Some);
    }
    let seconds: Option<f64> = optional(options, name, "a number of seconds, or a text such as '500ms'")?;
    let duration = seconds.map(Duration::try_from_secs_f64).transpose();
    raised(options.py(), duration.map_err(|error| Error::usage(format!("{name}: {error}"))))
}

/// The error for a value of another type.
fn wrong(name: &str, value: &Bound<'_, PyAny>, wanted: &str) -> PyErr {
    let shown = value.repr().map_or_else(|_| "this value".to_owned(), |shown| shown.to_string());
    exception(value.py(), &Error::usage(format!("the option {name} is {wanted}, not {shown}")))
}
