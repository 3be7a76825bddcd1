//! Errors of Arrow, which here are always the program's own.

use arrow::error::ArrowError;
use atsdb_core::Error;

pub(crate) fn internal(error: ArrowError) -> Error {
    Error::internal(error.to_string())
}
