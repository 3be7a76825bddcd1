//! The time that a direct read may take.

/// The time that a direct read may take. A longer read is not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadLength {
    /// As long as executing a plan.
    Any,
    /// Well below a millisecond: few rows are examined, and they are in memory.
    Moment,
}
