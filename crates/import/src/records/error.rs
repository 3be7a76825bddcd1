//! Errors of records, which name file, line, column and value.

use crate::options::report::Skipped;
use atsdb_core::Error;

/// Maximum number of characters of a value in a message.
const VALUE_CHARS_MAX: usize = 60;

/// A value for a message: quoted, with control characters escaped, and shortened if it is long.
pub(crate) fn shown(value: &str) -> String {
    match value.char_indices().nth(VALUE_CHARS_MAX) {
        Some((end, _)) => format!("{:?}...", &value[..end]),
        None => format!("{value:?}"),
    }
}

/// An error in one record of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordError {
    /// The record's position in its block, among the well-formed ones.
    pub(crate) row: usize,
    /// The report for the caller.
    pub(crate) skipped: Skipped,
    /// The hint: what the user can do.
    pub(crate) hint: Option<String>,
}

impl RecordError {
    /// The error with which a strict import fails.
    pub(crate) fn into_error(self) -> Error {
        let error = self.skipped.refusal();
        match self.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

/// The number of line ends in some bytes.
pub(crate) fn line_ends(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}
