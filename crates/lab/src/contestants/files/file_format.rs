//! The two formats.

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileFormat {
    /// A line a row; rows are appended.
    Csv,
    /// One array of arrays; rewritten by every change.
    Json,
}
