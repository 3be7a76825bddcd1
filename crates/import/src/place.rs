//! Errors that name the place: file, line, column and value.

use crate::options::Skipped;
use atsdb_core::Error;

/// The most characters of a value that a message shows.
const VALUE_CHARS_MAX: usize = 60;

/// A value as a message shows it: quoted, control characters escaped, cut when long.
pub(crate) fn shown(value: &str) -> String {
    match value.char_indices().nth(VALUE_CHARS_MAX) {
        Some((end, _)) => format!("{:?}...", &value[..end]),
        None => format!("{value:?}"),
    }
}

/// What is wrong in one record of a block: where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// The record's position in its block, among the well-formed ones.
    pub(crate) row: usize,
    /// What the caller is told.
    pub(crate) skipped: Skipped,
    /// How to go on.
    pub(crate) hint: Option<String>,
}

impl Flaw {
    /// The error that a strict import ends with.
    pub(crate) fn into_error(self) -> Error {
        let Skipped { file, line, column, value, reason } = self.skipped;
        let column = column.map_or(String::new(), |column| format!(", column {column}"));
        let value = if value.is_empty() { value } else { format!("{value} ") };
        let error = Error::invalid(format!("{file}, line {line}{column}: {value}{reason}"));
        match self.hint {
            Some(hint) => error.with_hint(hint),
            None => error.with_hint("correct the line, or pass --skip-bad to leave such lines out"),
        }
    }
}

/// How many line ends lie before a position.
pub(crate) fn line_ends(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}
