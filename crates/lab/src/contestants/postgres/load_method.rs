//! The ways in which rows are loaded.

/// How rows are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadMethod {
    /// Binary COPY, one for a load.
    Copy,
    /// INSERT statements of many rows, in one transaction.
    Multirow,
    /// A prepared INSERT of one row, in one transaction.
    Insert,
}

impl LoadMethod {
    /// Its name in the settings of a run.
    pub(super) fn setting(self) -> &'static str {
        match self {
            Self::Copy => "COPY, binary",
            Self::Multirow => "INSERT of many rows",
            Self::Insert => "prepared INSERT a row",
        }
    }
}
