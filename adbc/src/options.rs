//! Options: their names, and values that may come as text, numbers or both.

use crate::failure::{invalid, not_implemented, with_state};
use adbc_core::error::{Error, Result, Status};
use adbc_core::options::OptionValue;
use atsdb::duration::parse_duration;
use std::time::Duration;

/// The option that makes a connection read-only or writable.
pub(crate) const READ_ONLY: &str = "atsdb.read_only";
/// Whether the store is created if it does not exist.
pub(crate) const CREATE: &str = "atsdb.create";
/// `full`, `normal` or `off`.
pub(crate) const DURABILITY: &str = "atsdb.durability";
/// Whether this process seals slices and drops expired ones.
pub(crate) const MAINTENANCE: &str = "atsdb.maintenance";
/// The memory of all queries together.
pub(crate) const MEMORY_BYTES: &str = "atsdb.memory_bytes";
/// The space of temporary files of all queries together.
pub(crate) const TEMP_BYTES: &str = "atsdb.temp_bytes";
/// The cache of decoded columns.
pub(crate) const CACHE_BYTES: &str = "atsdb.cache_bytes";
/// The number of threads for queries.
pub(crate) const THREADS: &str = "atsdb.threads";
/// The time limit of a query, in seconds unless it has a unit.
pub(crate) const TIMEOUT_SECONDS: &str = "atsdb.timeout_seconds";
/// How long a commit waits for another process, in seconds unless it has a unit.
pub(crate) const BUSY_TIMEOUT_SECONDS: &str = "atsdb.busy_timeout_seconds";
/// Whether mapped columns of results are dictionaries; otherwise they are text.
pub(crate) const DICTIONARIES: &str = "atsdb.dictionaries";
/// Whether intervals of results are durations, for libraries that have no intervals.
pub(crate) const DURATIONS: &str = "atsdb.durations";
/// The notice of the last call, or an empty text.
pub(crate) const NOTICE: &str = "atsdb.notice";

/// The time column of a table that ingestion creates.
pub(crate) const INGEST_TIME: &str = "atsdb.ingest.time";
/// Its unit, if the column is an integer.
pub(crate) const INGEST_TIME_UNIT: &str = "atsdb.ingest.time_unit";
/// The mapped columns of such a table: `sensor:u32,status:u8`.
pub(crate) const INGEST_MAP: &str = "atsdb.ingest.map";
/// The width of its slices.
pub(crate) const INGEST_SLICE: &str = "atsdb.ingest.slice";
/// Its series key: `sensor`.
pub(crate) const INGEST_KEY: &str = "atsdb.ingest.key";
/// How long its rows are kept.
pub(crate) const INGEST_RETENTION: &str = "atsdb.ingest.retention";
/// The id of a batch. A batch with the same id is stored once.
pub(crate) const INGEST_BATCH_ID: &str = "atsdb.ingest.batch_id";

/// Whether parameters are matched by name.
pub(crate) const BIND_BY_NAME: &str = "adbc.statement.bind_by_name";

/// An option whose value is text.
pub(crate) fn text(key: &str, value: OptionValue) -> Result<String> {
    match value {
        OptionValue::String(text) => Ok(text),
        other => Err(wrong(key, &other, "text")),
    }
}

/// An option that is `true` or `false`.
pub(crate) fn flag(key: &str, value: &OptionValue) -> Result<bool> {
    let number = |number: i64| match number {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    };
    let found = match value {
        OptionValue::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        OptionValue::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        OptionValue::String(text) => text.parse().ok().and_then(number),
        OptionValue::Int(value) => number(*value),
        _ => None,
    };
    found.ok_or_else(|| wrong(key, value, "true or false"))
}

/// A number of bytes: `268435456`, or with a unit, such as `256 MiB`.
pub(crate) fn byte_count(key: &str, value: &OptionValue) -> Result<usize> {
    let bytes = match value {
        OptionValue::String(text) => atsdb::size::parse_size(text).ok(),
        OptionValue::Int(bytes) => u64::try_from(*bytes).ok(),
        _ => None,
    };
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
    bytes.ok_or_else(|| wrong(key, value, "a number of bytes, such as 268435456 or 256 MiB"))
}

/// An integer of at least 1.
pub(crate) fn count(key: &str, value: &OptionValue) -> Result<usize> {
    let count = match value {
        OptionValue::String(text) => text.parse().ok(),
        OptionValue::Int(count) => usize::try_from(*count).ok(),
        _ => None,
    };
    count.filter(|count| *count > 0).ok_or_else(|| wrong(key, value, "an integer of at least 1"))
}

/// A length of time: a number of seconds, or a text with a unit, such as `500ms`.
pub(crate) fn duration(key: &str, value: &OptionValue) -> Result<Duration> {
    let of_seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    let duration = match value {
        OptionValue::String(text) => match text.parse::<f64>() {
            Ok(seconds) => of_seconds(seconds),
            Err(_) => parse_duration(text).ok(),
        },
        OptionValue::Int(seconds) => u64::try_from(*seconds).ok().map(Duration::from_secs),
        OptionValue::Double(seconds) => of_seconds(*seconds),
        _ => None,
    };
    duration.ok_or_else(|| wrong(key, value, "a number of seconds, or a text such as 500ms or 2 minutes"))
}

fn wrong(key: &str, value: &OptionValue, wanted: &str) -> Error {
    let found = match value {
        OptionValue::String(text) => format!("{text:?}"),
        OptionValue::Int(number) => number.to_string(),
        OptionValue::Double(number) => number.to_string(),
        _ => "bytes".to_owned(),
    };
    invalid(format!("the option {key} is {wanted}, not {found}"))
}

/// The error for setting an option that does not exist.
pub(crate) fn unknown_to_set(key: &str) -> Error {
    not_implemented(format!("there is no option {key}"))
}

/// The error for an option that has no value of this type.
pub(crate) fn unknown_to_get(key: &str) -> Error {
    with_state(Status::NotFound, "00000", format!("the option {key} has no value of this type"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_from_text_and_numbers() {
        assert!(flag("k", &"TRUE".into()).unwrap() && !flag("k", &OptionValue::Int(0)).unwrap());
        assert_eq!(flag("k", &"yes".into()).unwrap_err().message, "the option k is true or false, not \"yes\"");
        assert_eq!(byte_count("k", &"4 KiB".into()).unwrap(), 4096);
        assert_eq!(byte_count("k", &OptionValue::Int(7)).unwrap(), 7);
        assert!(byte_count("k", &OptionValue::Int(-1)).is_err() && count("k", &"0".into()).is_err());
        for half in ["0.5".into(), "500ms".into(), OptionValue::Double(0.5)] {
            assert_eq!(duration("k", &half).unwrap(), Duration::from_millis(500));
        }
        assert_eq!(duration("k", &"2 minutes".into()).unwrap(), duration("k", &OptionValue::Int(120)).unwrap());
        for bad in ["-1".into(), "1 month".into(), "soon".into(), OptionValue::Int(-1), OptionValue::Double(f64::NAN)] {
            assert!(duration("k", &bad).is_err());
        }
        assert!(text("k", OptionValue::Int(1)).is_err());
    }
}
