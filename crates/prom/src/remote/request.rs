//! A write request, decoded.

use super::columns::Samples;

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum MetricKind {
    Unknown,
    Counter,
    Gauge,
    Histogram,
    GaugeHistogram,
    Summary,
    Info,
    Stateset,
}

impl MetricKind {
    /// The kind of a number in both versions.
    pub(super) fn of(number: u64) -> Self {
        match number {
            1 => Self::Counter,
            2 => Self::Gauge,
            3 => Self::Histogram,
            4 => Self::GaugeHistogram,
            5 => Self::Summary,
            6 => Self::Info,
            7 => Self::Stateset,
            _ => Self::Unknown,
        }
    }

    /// As the API shows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::GaugeHistogram => "gaugehistogram",
            Self::Summary => "summary",
            Self::Info => "info",
            Self::Stateset => "stateset",
        }
    }
}

/// What a sender says about a metric.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Metadata {
    /// The metric's name.
    pub metric: String,
    /// What it is.
    pub kind: MetricKind,
    /// What it means.
    pub help: String,
    /// Its unit.
    pub unit: String,
}

/// A write request.
#[derive(Debug, Default)]
pub struct WriteRequest {
    /// The samples in columns.
    pub samples: Samples,
    /// What was said about metrics.
    pub metadata: Vec<Metadata>,
    /// How many native histograms were sent. They are not stored.
    pub histograms: usize,
    /// How many exemplars were sent. They are not stored.
    pub exemplars: usize,
}
