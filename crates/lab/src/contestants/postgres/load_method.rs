//! The ways in which rows are loaded.

use strum::IntoStaticStr;

/// How rows are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
pub(super) enum LoadMethod {
    /// Binary COPY, one for a load.
    #[strum(serialize = "COPY, binary")]
    Copy,
    /// INSERT statements of many rows, in one transaction.
    #[strum(serialize = "INSERT of many rows")]
    Multirow,
    /// A prepared INSERT of one row, in one transaction.
    #[strum(serialize = "prepared INSERT a row")]
    Insert,
}

impl LoadMethod {
    /// Its name in the settings of a run.
    pub(super) fn setting(self) -> &'static str {
        self.into()
    }
}
