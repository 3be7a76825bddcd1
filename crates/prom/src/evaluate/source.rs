//! The source of samples.

use super::outcome::EvaluateError;
use crate::histogram::Histogram;
use crate::labels::{Labels, Matcher};
use std::sync::Arc;

/// The bits of the stale marker: from here on the series has no value. It is a NaN that arithmetic never yields.
pub const STALE_BITS: u64 = 0x7ff0_0000_0000_0002;

/// The samples of one series.
#[derive(Debug, Clone)]
pub struct RawSeries {
    /// The labels, including the metric's name.
    pub labels: Labels,
    /// Milliseconds since 1970, ascending, each once.
    pub times: Vec<i64>,
    /// The values, including stale markers, one for each time.
    pub values: Vec<f64>,
}

/// The native histograms of one series.
#[derive(Debug, Clone)]
pub struct RawHistograms {
    /// The labels, including the metric's name.
    pub labels: Labels,
    /// Milliseconds since 1970, ascending, each once.
    pub times: Vec<i64>,
    /// The histograms, one for each time. One whose sum has the bits [`STALE_BITS`] is a stale marker.
    pub histograms: Vec<Arc<Histogram>>,
}

/// Returns the series that a query needs.
pub trait SeriesSource {
    /// All series that satisfy every condition, sorted by labels, with their samples from one time to another in
    /// milliseconds, both included. Series without such samples may be left out.
    ///
    /// `samples_max` is how many samples the query may still load: the source stops with
    /// [`EvaluateError::TooManySamples`] before it collects more.
    fn select(
        &self,
        matchers: &[Matcher],
        from: i64,
        to: i64,
        samples_max: usize,
    ) -> Result<Vec<RawSeries>, EvaluateError>;

    /// The native histograms that [`Self::select`] would return if they were numbers: of all series that satisfy
    /// every condition, sorted by labels, with samples from one time to another, both included. A series may have
    /// numbers and histograms, at different times; then both methods return it. A stale marker may be a number or a
    /// histogram.
    ///
    /// A histogram counts as several samples, by its size. A source that stores no histograms keeps the default. It is
    /// called once for each selector of each query, also where all series are numbers: a source that has histograms of
    /// few metrics should find out quickly that none match.
    fn select_histograms(
        &self,
        _matchers: &[Matcher],
        _from: i64,
        _to: i64,
        _samples_max: usize,
    ) -> Result<Vec<RawHistograms>, EvaluateError> {
        Ok(Vec::new())
    }
}
