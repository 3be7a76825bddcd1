//! The formats of the files.

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileFormat {
    /// One line for each row. Rows are appended.
    Csv,
    /// One array of arrays, which every change rewrites.
    Json,
}
