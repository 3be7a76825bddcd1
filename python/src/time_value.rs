//! Points in time between Python and counts since 1970, exactly: a `datetime` without a zone is UTC, as in the store.

use atsdb::time::{DAY_MICROSECONDS, DAY_NANOSECONDS, DAY_SECONDS};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDate, PyDateTime, PyDelta, PyDeltaAccess, PyString, PyTzInfo};

const NANOSECONDS: i128 = 1_000_000_000;

/// Nanoseconds since 1970 of a `datetime`, a `date`, a `pandas.Timestamp`, a `numpy.datetime64` or a text; `None` for
/// any other value.
pub(crate) fn nanoseconds(value: &Bound<'_, PyAny>) -> PyResult<Option<i128>> {
    let py = value.py();
    if value.is_instance_of::<PyDateTime>() {
        let zone = value.getattr("tzinfo")?;
        let since = value.call_method1("__sub__", (epoch(py, !zone.is_none())?,))?;
        let delta = since.cast::<PyDelta>()?;
        let seconds = i128::from(delta.get_days()) * i128::from(DAY_SECONDS) + i128::from(delta.get_seconds());
        // A `pandas.Timestamp` is a `datetime` with nanoseconds.
        let more = match value.getattr_opt("nanosecond")? {
            Some(nanosecond) => nanosecond.extract::<i128>()?,
            None => 0,
        };
        return Ok(Some(seconds * NANOSECONDS + i128::from(delta.get_microseconds()) * 1_000 + more));
    }
    if value.is_instance_of::<PyDate>() {
        let day = value.call_method0("toordinal")?.extract::<i128>()? - 719_163;
        return Ok(Some(day * i128::from(DAY_NANOSECONDS)));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return match atsdb::Moment::parse(text.to_str()?) {
            Ok(atsdb::Moment::Nanoseconds(nanoseconds)) => Ok(Some(nanoseconds)),
            Ok(atsdb::Moment::Count(_)) => Ok(None),
            Err(error) => Err(crate::failure::exception(py, &error)),
        };
    }
    if value.get_type().name()? == "datetime64" {
        let nanoseconds = value.call_method1("astype", ("datetime64[ns]",))?;
        let same = nanoseconds.call_method1("astype", (value.getattr("dtype")?,))?;
        if !same.eq(value)? {
            return Err(PyValueError::new_err(format!("{value} is not a whole number of nanoseconds")));
        }
        return Ok(Some(nanoseconds.call_method1("astype", ("int64",))?.extract()?));
    }
    Ok(None)
}

/// The `datetime` of a count of microseconds; in a zone, if there is one.
pub(crate) fn datetime<'py>(py: Python<'py>, microseconds: i64, zone: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let days = i32::try_from(microseconds.div_euclid(DAY_MICROSECONDS)).unwrap_or(i32::MAX);
    let rest = microseconds.rem_euclid(DAY_MICROSECONDS);
    let (seconds, rest) = ((rest / 1_000_000) as i32, (rest % 1_000_000) as i32);
    let in_utc =
        epoch(py, zone.is_some())?.call_method1("__add__", (PyDelta::new(py, days, seconds, rest, false)?,))?;
    match zone {
        None | Some("UTC" | "Z" | "+00:00" | "+00" | "+0000") => Ok(in_utc),
        Some(zone) => {
            let zone = py.import("zoneinfo")?.call_method1("ZoneInfo", (zone,))?;
            in_utc.call_method1("astimezone", (zone,))
        }
    }
}

/// A `datetime` with nanoseconds beyond its microseconds.
pub(crate) fn with_nanosecond<'py>(moment: &Bound<'py, PyAny>, nanosecond: i64) -> PyResult<Bound<'py, PyAny>> {
    static TIMESTAMP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = moment.py();
    let class = || -> PyResult<Py<PyAny>> { Ok(py.import("atsdb.times")?.getattr("Timestamp")?.unbind()) };
    TIMESTAMP.get_or_try_init(py, class)?.bind(py).call_method1("of", (moment, nanosecond))
}

/// The `date` of a count of days.
pub(crate) fn date<'py>(py: Python<'py>, days: i64) -> PyResult<Bound<'py, PyAny>> {
    py.get_type::<PyDate>().call_method1("fromordinal", (days + 719_163,))
}

/// The beginning of 1970, with the zone UTC or without a zone.
fn epoch<'py>(py: Python<'py>, has_zone: bool) -> PyResult<&'py Bound<'py, PyDateTime>> {
    static EPOCHS: [PyOnceLock<Py<PyDateTime>>; 2] = [PyOnceLock::new(), PyOnceLock::new()];
    let make = || -> PyResult<Py<PyDateTime>> {
        let zone = PyTzInfo::utc(py)?.to_owned();
        let zone = if has_zone { Some(&zone) } else { None };
        Ok(PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, zone)?.unbind())
    };
    EPOCHS[usize::from(has_zone)].get_or_try_init(py, make).map(|epoch| epoch.bind(py))
}
