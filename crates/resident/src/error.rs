//! Converts errors of Arrow, which are always internal errors here.

use arrow::error::ArrowError;
use atsdb_core::Error;

pub(crate) fn internal(error: ArrowError) -> Error {
    Error::internal(error.to_string())
}
