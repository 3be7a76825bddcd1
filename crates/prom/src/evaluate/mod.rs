//! PromQL's evaluator over any [`SeriesSource`].
//!
//! The semantics are those of Prometheus 3: ranges are open on the left, a sample counts for five minutes unless a
//! stale marker ends it, rates are extrapolated, and a metric's name is dropped when the result leaves the query, so
//! that `sum by (__name__)` of a rate works. An instant vector is a column for each series with one value a
//! step.

mod aggregate;
mod binary;
mod buckets;
mod calls;
mod columns;
mod dates;
mod edges;
mod elements;
mod evaluator;
mod info;
mod labelling;
mod limits;
mod matching;
mod notes;
mod outcome;
mod over_time;
mod query;
mod ranges;
mod rates;
mod select;
mod sorting;
mod source;
mod sums;
mod top;
mod trend;
mod window_calls;

pub use limits::{LOOKBACK_MS, Limits};
pub use outcome::{EvaluateError, Outcome, ResultSeries, ResultValue};
pub use query::{evaluate_instant, evaluate_range};
pub use source::{RawSeries, STALE_BITS, SeriesSource};
