//! Errors and panics as errors of SQLite.

use atsdb_core::ErrorKind;
use rusqlite::{Error, Result, ffi};
use std::any::Any;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An error of SQLite with this message.
pub(crate) fn module_error(message: impl Into<String>) -> Error {
    with_code(ffi::SQLITE_ERROR, message)
}

pub(crate) fn interrupted() -> Error {
    with_code(ffi::SQLITE_INTERRUPT, "interrupted")
}

fn with_code(code: c_int, message: impl Into<String>) -> Error {
    Error::SqliteFailure(ffi::Error::new(code), Some(message.into()))
}

/// Turns an error of the store into one of SQLite: the message with the hint, and the code that fits best.
pub(crate) fn of_store(error: atsdb_core::Error) -> Error {
    let code = match error.kind() {
        ErrorKind::Corrupt => ffi::SQLITE_CORRUPT_VTAB,
        ErrorKind::Busy => ffi::SQLITE_BUSY,
        ErrorKind::Interrupted => ffi::SQLITE_INTERRUPT,
        ErrorKind::ReadOnly => ffi::SQLITE_READONLY,
        ErrorKind::Unavailable => ffi::SQLITE_IOERR,
        ErrorKind::NotAStore => ffi::SQLITE_NOTADB,
        _ => ffi::SQLITE_ERROR,
    };
    with_code(code, error.to_string())
}

/// Runs a callback of SQLite. A panic becomes an error, since it must not unwind through SQLite.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(module_error(format!("internal error of atsdb, please report it: {}", panic_text(panic.as_ref()))))
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_and_a_hint_is_part_of_the_message() {
        let error = guarded::<()>(|| panic!("row {}", 7)).unwrap_err().to_string();
        assert!(error.contains("row 7"), "{error}");
        let error = of_store(atsdb_core::Error::corrupt("chunk 3 is damaged").with_hint("run verify"));
        assert_eq!(error.sqlite_error().map(|error| error.extended_code), Some(ffi::SQLITE_CORRUPT_VTAB));
        assert_eq!(error.to_string(), "chunk 3 is damaged (run verify)");
    }
}
