//! PromQL's evaluator over any [`SeriesSource`].
//!
//! The semantics are those of Prometheus 3: ranges are open on the left, a sample counts for five minutes unless a
//! stale marker ends it, rates are extrapolated, and a metric's name is dropped when the result leaves the query, so
//! that `sum by (__name__)` of a rate works. An instant vector is a column for each series with one value a
//! step. Native histograms are a second column, which is empty for series of numbers.

mod aggregate;
mod binary;
mod binary_samples;
mod buckets;
mod calls;
mod columns;
mod dates;
mod edges;
mod edges_of_histograms;
mod elements;
mod evaluator;
mod histogram_functions;
mod histogram_rates;
mod histogram_totals;
mod histogram_windows;
mod info;
mod labelling;
mod limits;
mod matched;
mod matching;
mod notes;
mod outcome;
mod over_time;
mod query;
mod ranges;
mod rates;
mod remarks;
mod select;
mod sorting;
mod source;
mod sums;
mod top;
mod trend;
mod window_calls;

pub(crate) use elements::shown;
pub use limits::{LOOKBACK_MS, Limits};
pub use outcome::{EvaluateError, Outcome, ResultSeries, ResultValue, Sample};
pub use query::{evaluate_instant, evaluate_range};
pub use source::{RawHistograms, RawSeries, STALE_BITS, SeriesSource};
