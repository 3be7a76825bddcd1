//! The time that a direct read may take.

/// The time that a direct read may take. A longer read is not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadLength {
    /// The time of executing a plan.
    Any,
    /// A time well below a millisecond: few rows are examined, and they are in memory.
    Moment,
}
