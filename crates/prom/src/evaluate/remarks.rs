//! Remarks about native histograms, in Prometheus' words.

use super::evaluator::Query;
use crate::histogram::{AdditionRemarks, NanObservations};

/// The context of a remark: the query, the position in its text, and the metric.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) query: &'a Query<'a>,
    pub(super) offset: usize,
    pub(super) metric: &'a str,
}

/// The operation that adds or subtracts histograms, as annotations name it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    Addition,
    Subtraction,
    Aggregation,
}

impl Purpose {
    fn word(self) -> &'static str {
        match self {
            Self::Addition => "addition",
            Self::Subtraction => "subtraction",
            Self::Aggregation => "aggregation",
        }
    }
}

fn for_metric(metric: &str) -> String {
    if metric.is_empty() { String::new() } else { format!(" for metric name {metric:?}") }
}

impl Query<'_> {
    /// Numbers and histograms in one range.
    pub(super) fn warn_mixed(&self, offset: usize, metric: &str) {
        self.warn(offset, format!("encountered a mix of histograms and floats for metric name {metric:?}"));
    }

    /// Numbers and histograms in one group.
    pub(super) fn warn_mixed_group(&self, offset: usize) {
        self.warn(offset, "encountered a mix of histograms and floats for aggregation");
    }

    pub(super) fn warn_classic_and_native(&self, offset: usize, metric: &str) {
        let metric = for_metric(metric);
        self.warn(offset, format!("vector contains a mix of classic and native histograms{metric}"));
    }

    pub(super) fn warn_not_counter(&self, offset: usize, metric: &str) {
        self.warn(offset, format!("this native histogram metric is not a counter: {metric:?}"));
    }

    pub(super) fn warn_not_gauge(&self, offset: usize, metric: &str) {
        self.warn(offset, format!("this native histogram metric is not a gauge: {metric:?}"));
    }

    /// Exponential and custom boundaries.
    pub(super) fn warn_incompatible(&self, offset: usize, metric: &str) {
        let message = "vector contains a mix of histograms with exponential and custom buckets schemas for metric name";
        self.warn(offset, format!("{message} {metric:?}"));
    }

    pub(super) fn warn_resets_conflict(&self, offset: usize, purpose: Purpose) {
        self.warn(offset, resets_conflict(purpose));
    }

    pub(super) fn inform_reconciled(&self, offset: usize, purpose: Purpose) {
        self.inform(offset, bounds_reconciled(purpose));
    }

    /// Remarks on an aggregation.
    pub(super) fn remark_on_total(&self, offset: usize, added: AdditionRemarks) {
        if added.resets_conflict {
            self.warn_resets_conflict(offset, Purpose::Aggregation);
        }
        if added.bounds_reconciled {
            self.inform_reconciled(offset, Purpose::Aggregation);
        }
    }

    pub(super) fn inform_ignored_in_range(&self, offset: usize, metric: &str) {
        let message = "ignored histograms in a range containing both floats and histograms for metric name";
        self.inform(offset, format!("{message} {metric:?}"));
    }

    pub(super) fn inform_ignored_in_group(&self, offset: usize, aggregation: &str) {
        self.inform(offset, format!("ignored histogram in {aggregation} aggregation"));
    }

    pub(super) fn inform_nan(&self, offset: usize, metric: &str, nan: NanObservations) {
        let message = match nan {
            NanObservations::AreResult => "input to histogram_quantile has NaN observations, result is NaN",
            NanObservations::SkewResult => "input to histogram_quantile has NaN observations, result is skewed higher",
            NanObservations::AreExcluded => {
                "input to histogram_fraction has NaN observations, which are excluded from all fractions"
            }
        };
        self.inform(offset, format!("{message}{}", for_metric(metric)));
    }
}

pub(super) fn resets_conflict(purpose: Purpose) -> String {
    format!("conflicting counter resets during histogram {}", purpose.word())
}

pub(super) fn bounds_reconciled(purpose: Purpose) -> String {
    format!("mismatched custom buckets were reconciled during {}", purpose.word())
}
