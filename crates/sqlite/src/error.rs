//! Internal failures and their conversion to errors: SQLite's codes become kinds of [`Error`].

use crate::access::refused_at;
use atsdb_core::{Error, ErrorKind, refusal};
use rusqlite::ffi;
use std::io;
use std::path::Path;

/// A failure before it is known in which file it happened.
#[derive(Debug)]
pub(crate) enum Failure {
    /// SQLite failed; the transaction must be rolled back.
    Sqlite(rusqlite::Error),
    /// The call, or the change of a commit, is refused; the connection is usable.
    Refused(Error),
    /// A chunk's pages were relocated to another page file between two reads. Nothing was changed; the caller retries.
    Relocated,
    /// The transaction was committed to a file that its path no longer names. It must not be acknowledged, and what it
    /// refers to must stay.
    Orphaned(Error),
}

pub(crate) type Attempt<T> = Result<T, Failure>;

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl Failure {
    /// Returns whether the disk is full.
    pub(crate) fn is_full(&self) -> bool {
        match self {
            Self::Sqlite(error) => is_full(error),
            Self::Refused(error) => {
                let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
                source.is_some_and(|error| {
                    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
                })
            }
            Self::Relocated | Self::Orphaned(_) => false,
        }
    }

    /// Returns whether the connection failed because of the disk, other than a full one.
    pub(crate) fn is_disk_failure(&self) -> bool {
        matches!(self, Self::Sqlite(error) if is_disk_failure(error))
    }

    /// Returns whether a sync failed.
    pub(crate) fn is_sync_failure(&self) -> bool {
        matches!(self, Self::Sqlite(error) if extended_code(error) == Some(ffi::SQLITE_IOERR_FSYNC))
    }

    /// Converts the failure to the error for the caller; `path` is the store's file.
    pub(crate) fn into_error(self, path: &Path) -> Error {
        match self {
            Self::Sqlite(error) => translate(error, path),
            Self::Refused(error) | Self::Orphaned(error) => error,
            Self::Relocated => Error::internal("chunks were relocated in the meantime"),
        }
    }
}

/// Returns whether SQLite found no space for the file, its log or the index of its log.
fn is_full(error: &rusqlite::Error) -> bool {
    primary_code(error) == Some(ffi::SQLITE_FULL) || extended_code(error) == Some(ffi::SQLITE_IOERR_SHMSIZE)
}

/// Returns whether SQLite failed because of the disk, other than a full one. SQLite also reports corruption if the
/// system cannot read a file: `unixRead` turns EIO into SQLITE_IOERR_CORRUPTFS, and that becomes SQLITE_CORRUPT.
pub(crate) fn is_disk_failure(error: &rusqlite::Error) -> bool {
    let code = primary_code(error);
    !is_full(error)
        && matches!(
            code,
            Some(
                ffi::SQLITE_IOERR
                    | ffi::SQLITE_CORRUPT
                    | ffi::SQLITE_NOTADB
                    | ffi::SQLITE_CANTOPEN
                    | ffi::SQLITE_PROTOCOL
            )
        )
}

/// Returns the extended result code, if SQLite gave one.
pub(crate) fn extended_code(error: &rusqlite::Error) -> Option<i32> {
    match error {
        rusqlite::Error::SqlInputError { error, .. } => Some(error.extended_code),
        other => other.sqlite_error().map(|inner| inner.extended_code),
    }
}

/// Returns the primary result code, if SQLite gave one.
pub(crate) fn primary_code(error: &rusqlite::Error) -> Option<i32> {
    extended_code(error).map(|code| code & 0xff)
}

/// Returns whether the error means that stored bytes are damaged.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    match error {
        E::IntegralValueOutOfRange(..) | E::InvalidColumnType(..) | E::FromSqlConversionFailure(..) => true,
        E::Utf8Error(..) | E::QueryReturnedNoRows => true,
        _ => {
            // SQLITE_ERROR is a statement that does not match the file's tables. The statements are fixed, so the
            // tables' own definitions must be damaged.
            matches!(primary_code(error), Some(ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB | ffi::SQLITE_ERROR))
                || extended_code(error) == Some(ffi::SQLITE_IOERR_CORRUPTFS)
        }
    }
}

/// The files that a store has open: the file, its log and index, and one more for the directory.
const HANDLES_OF_A_STORE: usize = 4;

/// The code of the operating system for too many open files in the whole system.
const ENFILE: i32 = 23;
/// The code for too many open files in the process.
const EMFILE: i32 = 24;

/// Returns whether the process, or the system, cannot open as many more files as a store needs. SQLite does not report
/// why it could not open one.
fn lacks_handles() -> bool {
    let opened: Vec<_> = (0..HANDLES_OF_A_STORE).map(|_| std::fs::File::open("/dev/null")).collect();
    let is_shortage = |error: &std::io::Error| matches!(error.raw_os_error(), Some(ENFILE | EMFILE));
    opened.iter().any(|opened| opened.as_ref().is_err_and(is_shortage))
}

fn translate(error: rusqlite::Error, path: &Path) -> Error {
    let location = path.display();
    if is_damage(&error) {
        let (message, hint) = if primary_code(&error) == Some(ffi::SQLITE_CORRUPT) {
            let hint = "look for read errors in the system's log; run atsdb verify to list all damage, and restore \
                        what is damaged from a backup";
            (format!("the store {location} is damaged, or the disk could not read it: {error}"), hint)
        } else {
            (format!("the store {location} is damaged: {error}"), refusal::VERIFY)
        };
        return Error::corrupt(message).with_hint(hint).with_source(error);
    }
    let translated = match primary_code(&error) {
        Some(ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED) => {
            Error::new(ErrorKind::Busy, format!("the store {location} is held by another writer"))
                .with_hint("retry when it has finished")
        }
        _ if is_full(&error) => {
            Error::new(ErrorKind::Unavailable, format!("disk full at {location}: this call stored nothing"))
                .with_hint("free some space and retry; reading still works")
        }
        Some(ffi::SQLITE_IOERR) => {
            let message = format!("input or output failed at {location}, nothing was acknowledged: {error}");
            Error::new(ErrorKind::Unavailable, message)
                .with_hint("check the disk and the system's log, and the limit on the size of files: ulimit -f")
        }
        Some(ffi::SQLITE_CANTOPEN) if lacks_handles() => {
            Error::new(ErrorKind::Unavailable, format!("cannot open {location}: too many files are open"))
                .with_hint("raise its limit of open files: ulimit -n 4096")
        }
        Some(ffi::SQLITE_CANTOPEN) => {
            // The message of SQLite names the file as a URL.
            let reason = refused_at(path)
                .map_or_else(|| "SQLite does not report the reason".to_owned(), |error| error.to_string());
            Error::new(ErrorKind::Unavailable, format!("cannot open {location}: {reason}"))
                .with_hint("check that you may read and write the file and its directory")
        }
        Some(ffi::SQLITE_READONLY | ffi::SQLITE_PERM) => {
            Error::new(ErrorKind::ReadOnly, format!("the store {location} cannot be written: {error}"))
                .with_hint("check the permissions of the file and its directory")
        }
        Some(ffi::SQLITE_NOMEM) => Error::new(ErrorKind::Resources, format!("out of memory at {location}")),
        Some(ffi::SQLITE_INTERRUPT) => Error::new(ErrorKind::Interrupted, "interrupted"),
        Some(ffi::SQLITE_TOOBIG) => {
            Error::new(ErrorKind::Limit, format!("a page is larger than SQLite takes, at {location}"))
        }
        _ => Error::internal(format!("SQLite failed at {location}: {error}")),
    };
    translated.with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_opened_is_reported_by_its_path() {
        let sqlite = rusqlite::Error::SqliteFailure(
            ffi::Error::new(ffi::SQLITE_CANTOPEN),
            Some("unable to open database file: file:/no/such/a.db?immutable=1".to_owned()),
        );
        let error = translate(sqlite, Path::new("/no/such/a.db"));
        assert_eq!(error.message(), "cannot open /no/such/a.db: No such file or directory (os error 2)");
    }
}
