//! The parts of a request.

/// Attributes with their values as texts.
pub(super) type Attributes = Vec<(String, String)>;

/// The time over which a sum counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Temporality {
    #[default]
    Unspecified,
    Delta,
    Cumulative,
}

impl Temporality {
    pub(super) fn of(number: u64) -> Self {
        match number {
            1 => Self::Delta,
            2 => Self::Cumulative,
            _ => Self::Unspecified,
        }
    }
}

/// The kind of a metric's points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PointKind {
    Gauge,
    Sum { temporality: Temporality, is_monotonic: bool },
    Histogram { temporality: Temporality },
    Exponential { temporality: Temporality },
    Summary,
}

/// A metric without its points.
#[derive(Debug, Clone)]
pub(super) struct MetricHead {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) unit: String,
    pub(super) kind: PointKind,
}

/// The fields that all points have.
#[derive(Debug, Default)]
pub(super) struct PointHead {
    pub(super) attributes: Attributes,
    pub(super) time_ns: u64,
    /// Whether the point is marked as having no value.
    pub(super) is_empty: bool,
    pub(super) exemplars: Vec<PointExemplar>,
}

/// An exemplar of a point.
#[derive(Debug, Default)]
pub(super) struct PointExemplar {
    /// 0 if it is not given.
    pub(super) time_ns: u64,
    pub(super) value: f64,
    /// The attributes that the point does not have.
    pub(super) attributes: Attributes,
    /// The id of the trace in hexadecimal; empty if there is none.
    pub(super) trace_id: String,
    /// The id of the span in hexadecimal; empty if there is none.
    pub(super) span_id: String,
}

/// A point of a gauge or a sum.
#[derive(Debug, Default)]
pub(super) struct NumberPoint {
    pub(super) head: PointHead,
    pub(super) value: f64,
}

/// A point of a histogram with bounds.
#[derive(Debug, Default)]
pub(super) struct HistogramPoint {
    pub(super) head: PointHead,
    pub(super) count: u64,
    pub(super) sum: Option<f64>,
    pub(super) bucket_counts: Vec<u64>,
    pub(super) bounds: Vec<f64>,
}

/// A point of an exponential histogram.
#[derive(Debug, Default)]
pub(super) struct ExponentialPoint {
    pub(super) head: PointHead,
    pub(super) count: u64,
    pub(super) sum: Option<f64>,
    /// The base of the bounds is two to the power of `2^-scale`.
    pub(super) scale: i32,
    pub(super) zero_count: u64,
    pub(super) positive: ConsecutiveBuckets,
    pub(super) negative: ConsecutiveBuckets,
}

/// The counts of consecutive buckets.
#[derive(Debug, Default)]
pub(super) struct ConsecutiveBuckets {
    /// The index of the first.
    pub(super) offset: i32,
    pub(super) counts: Vec<u64>,
}

/// A point of a summary.
#[derive(Debug, Default)]
pub(super) struct SummaryPoint {
    pub(super) head: PointHead,
    pub(super) count: u64,
    pub(super) sum: f64,
    /// Quantiles and their values.
    pub(super) quantiles: Vec<(f64, f64)>,
}

/// The flag of a point without a value.
pub(super) const NO_RECORDED_VALUE: u64 = 1;
