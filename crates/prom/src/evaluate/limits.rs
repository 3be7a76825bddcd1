//! What a query may use.

/// How long a sample counts if none follows, in milliseconds.
pub const LOOKBACK_MS: i64 = 300_000;

/// What a query may use.
pub struct Limits<'a> {
    /// How long a sample counts if none follows, in milliseconds.
    pub lookback_ms: i64,
    /// How many samples it may load.
    pub samples_max: usize,
    /// Whether it shall stop.
    pub stop: &'a dyn Fn() -> bool,
}
