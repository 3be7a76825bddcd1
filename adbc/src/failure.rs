//! Errors of a store as errors of ADBC: a status, an SQLSTATE, a message, and the kind and the hint as details.

use adbc_core::error::{Error, Result, Status};
use atsdb::ErrorKind;
use atsdb::sql::sqlstate_of;
use std::any::Any;
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The ADBC status for an error of this kind.
pub(crate) fn status_of(kind: ErrorKind) -> Status {
    match kind {
        ErrorKind::Usage | ErrorKind::Sql | ErrorKind::NotAStore => Status::InvalidArguments,
        ErrorKind::NotFound => Status::NotFound,
        ErrorKind::Exists => Status::AlreadyExists,
        ErrorKind::InvalidValue | ErrorKind::Limit => Status::InvalidData,
        ErrorKind::DuplicateKey | ErrorKind::CheckViolation | ErrorKind::ForeignKeyViolation => Status::Integrity,
        ErrorKind::Busy => Status::Timeout,
        // ADBC has no status for errors after which the caller may retry: the SQLSTATE distinguishes a conflict from a
        // full disk.
        ErrorKind::Resources | ErrorKind::Conflict | ErrorKind::Unavailable => Status::IO,
        ErrorKind::ReadOnly => Status::InvalidState,
        ErrorKind::NewerFormat => Status::NotImplemented,
        ErrorKind::Interrupted => Status::Cancelled,
        ErrorKind::Corrupt | ErrorKind::Internal => Status::Internal,
    }
}

/// An error of a store.
pub(crate) fn of_store(error: atsdb::Error) -> Error {
    let (kind, sqlstate) = (error.kind(), sqlstate_of(&error));
    // The class of broken constraints. A NULL in a NOT NULL column has no kind of its own.
    let status = if sqlstate.starts_with("23") { Status::Integrity } else { status_of(kind) };
    let mut failure = with_state(status, sqlstate, error.to_string());
    let mut details = vec![("atsdb.kind".to_owned(), kind.name().as_bytes().to_vec())];
    details.extend(error.hint().map(|hint| ("atsdb.hint".to_owned(), hint.as_bytes().to_vec())));
    failure.details = Some(details);
    failure
}

/// An error with a status and an SQLSTATE.
pub(crate) fn with_state(status: Status, sqlstate: &str, message: impl Into<String>) -> Error {
    // A C string ends at its first NUL.
    let mut failure = Error::with_message_and_status(message.into().replace('\0', "\u{fffd}"), status);
    for (to, from) in failure.sqlstate.iter_mut().zip(sqlstate.bytes()) {
        *to = from as c_char;
    }
    failure
}

/// A wrong option or argument.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    with_state(Status::InvalidArguments, ErrorKind::Usage.sqlstate(), message)
}

/// A call that the object is not ready for.
pub(crate) fn invalid_state(message: impl Into<String>) -> Error {
    with_state(Status::InvalidState, "55000", message)
}

/// The error for a feature of ADBC that stores do not have.
pub(crate) fn not_implemented(message: impl Into<String>) -> Error {
    with_state(Status::NotImplemented, "0A000", message)
}

/// Runs a call. A panic becomes an error, so that one call fails and not the driver.
pub(crate) fn guarded<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let message = format!("internal error: the call panicked: {}", text_of(panic.as_ref()));
        Err(with_state(Status::Internal, ErrorKind::Internal.sqlstate(), message))
    })
}

/// The message of a panic.
pub(crate) fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_status_its_sqlstate_and_its_hint() {
        let error = of_store(atsdb::Error::not_found("no table named a\0b").with_hint("did you mean ab?"));
        assert_eq!(error.status, Status::NotFound);
        assert_eq!(error.sqlstate.map(|letter| letter as u8), *b"42P01");
        assert_eq!(error.message, "no table named a\u{fffd}b (did you mean ab?)");
        let details = error.details.unwrap();
        assert_eq!(details[0], ("atsdb.kind".to_owned(), b"not_found".to_vec()));
        assert_eq!(details[1].1, b"did you mean ab?");
    }

    #[test]
    fn a_null_where_none_may_be_breaks_the_integrity() {
        let error = of_store(atsdb::Error::invalid("table t, column x: row 1: a value is NULL"));
        assert_eq!((error.status, error.sqlstate.map(|letter| letter as u8)), (Status::Integrity, *b"23502"));
        assert_eq!(of_store(atsdb::Error::invalid("division by zero")).status, Status::InvalidData);
    }

    #[test]
    fn a_panic_is_an_error() {
        let failed: Result<()> = guarded(|| panic!("row {}", 7));
        assert_eq!(failed.unwrap_err().message, "internal error: the call panicked: row 7");
    }
}
