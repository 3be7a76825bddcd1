//! The source of samples.

use super::outcome::EvaluateError;
use crate::labels::{Labels, Matcher};

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
}
