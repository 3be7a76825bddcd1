//! Errors of the operating system.

use atsdb::{Error, ErrorKind};

pub(super) fn unavailable(what: &str, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{what}: {error}")).with_source(error)
}
