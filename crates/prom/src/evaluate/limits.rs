//! The limits of a query.

/// The time for which a sample stays valid if none follows, in milliseconds.
pub const LOOKBACK_MS: i64 = 300_000;

/// The limits of a query.
pub struct Limits<'a> {
    /// The time for which a sample stays valid if none follows, in milliseconds.
    pub lookback_ms: i64,
    /// The maximum number of samples that a query may load.
    pub samples_max: usize,
    /// Returns true if the query must stop.
    pub stop: &'a dyn Fn() -> bool,
}
