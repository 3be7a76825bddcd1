//! The samples that a function over a range sees at one step.

use crate::histogram::Histogram;
use crate::promql::Edge;
use std::sync::Arc;

/// The samples of one series in one range: at least one number or histogram.
pub(super) struct Window<'a> {
    /// Milliseconds, ascending.
    pub(super) times: &'a [i64],
    pub(super) values: &'a [f64],
    /// The native histograms, ascending by time. Most series have none.
    pub(super) histograms: &'a [(i64, Arc<Histogram>)],
    /// The range, open on the left.
    pub(super) begin: i64,
    pub(super) end: i64,
    /// The time of the step.
    pub(super) time: i64,
    /// The length of the range.
    pub(super) seconds: f64,
    pub(super) edge: Edge,
    /// The scalar arguments at this step.
    pub(super) args: &'a [f64],
}

/// A function over the numbers of a range. Returns `None` if there are too few samples.
pub(super) type WindowFunction = fn(&Window<'_>) -> Option<f64>;
