//! The two formats.

/// What a file looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileFormat {
    /// A line a row; rows are appended.
    Csv,
    /// One array of arrays; rewritten by every change.
    Json,
}
