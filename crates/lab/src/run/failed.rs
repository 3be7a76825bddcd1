//! What the system refused to the lab.

use atsdb::{Error, ErrorKind};

pub(super) fn unavailable(what: &str, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{what}: {error}")).with_source(error)
}
