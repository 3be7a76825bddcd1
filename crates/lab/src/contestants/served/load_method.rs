//! The ways in which rows are loaded.

/// How rows are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadMethod {
    /// Binary COPY, one for a load.
    Copy,
    /// The line protocol, in requests of many lines.
    Lines,
}
