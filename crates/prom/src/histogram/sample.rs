//! A native histogram as a sample.

/// The schema of histograms with custom boundaries.
pub const CUSTOM_SCHEMA: i8 = -53;

/// The size in bytes of a sample that is a number: its time and its value.
pub const SAMPLE_BYTES: usize = 16;

/// A native histogram with counts as floating-point numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// The resolution of the buckets, from -4 for coarse ones to 8 for fine ones; [`CUSTOM_SCHEMA`] for custom
    /// boundaries.
    pub schema: i8,
    /// The zero bucket holds observations whose absolute value is at most this.
    pub zero_threshold: f64,
    /// The number of observations in the zero bucket.
    pub zero_count: f64,
    /// The number of all observations, including NaN.
    pub count: f64,
    /// The sum of all observations. The bits of a stale marker mean that the series ends.
    pub sum: f64,
    /// The buckets of positive observations; all buckets if the boundaries are custom.
    pub positive: Buckets,
    /// The buckets of negative observations, by their absolute values.
    pub negative: Buckets,
    /// The upper bounds of custom buckets, ascending, without infinity.
    pub custom_bounds: Vec<f64>,
    /// Whether the counter was reset before this sample.
    pub reset_hint: ResetHint,
}

impl Histogram {
    /// Returns the number of samples as which the histogram counts: its size in memory in units of [`SAMPLE_BYTES`].
    pub fn sample_count(&self) -> usize {
        let side = |side: &Buckets| size_of_val(&side.spans[..]) + size_of_val(&side.counts[..]);
        let lists = side(&self.positive) + side(&self.negative) + size_of_val(&self.custom_bounds[..]);
        (size_of::<Self>() + lists).div_ceil(SAMPLE_BYTES)
    }
}

/// The populated buckets of one side.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Buckets {
    /// The spans of consecutive buckets.
    pub spans: Vec<Span>,
    /// The number of observations of each bucket, one for each bucket of the spans. Counts are not cumulative.
    pub counts: Vec<f64>,
}

/// A run of consecutive buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The index of the first bucket for the first span; the number of buckets after the previous span for the others.
    pub offset: i32,
    /// The number of buckets.
    pub length: u32,
}

/// Whether a counter was reset between the sample before and this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResetHint {
    /// The samples have to be compared.
    #[default]
    Unknown,
    /// It was reset.
    Reset,
    /// It was not reset.
    NoReset,
    /// The histogram is a gauge, which may fall without a reset.
    Gauge,
}
