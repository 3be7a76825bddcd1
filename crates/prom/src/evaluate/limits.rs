//! The limits of a query.

/// How long a sample counts if none follows, in milliseconds.
pub const LOOKBACK_MS: i64 = 300_000;

/// The limits of a query.
pub struct Limits<'a> {
    /// How long a sample counts if none follows, in milliseconds.
    pub lookback_ms: i64,
    /// How many samples it may load.
    pub samples_max: usize,
    /// Whether it shall stop.
    pub stop: &'a dyn Fn() -> bool,
}
