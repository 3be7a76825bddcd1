//! Series in memory.

use atsdb_prom::evaluate::{EvaluateError, RawHistograms};
use atsdb_prom::histogram::{Histogram, ResetHint};
use atsdb_prom::labels::{Labels, Matcher};
use atsdb_prom::{RawSeries, SeriesSource};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct Memory {
    series: BTreeMap<Labels, BTreeMap<i64, f64>>,
    histograms: BTreeMap<Labels, BTreeMap<i64, Arc<Histogram>>>,
    /// Whether a query asked for a series with native histograms.
    pub(crate) touched_native: Cell<bool>,
}

impl Memory {
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn add(&mut self, labels: Labels, time: i64, value: f64) {
        self.series.entry(labels).or_default().insert(time, value);
    }

    /// Adds a histogram with the hint that Prometheus' storage keeps: none for the first of a chunk, and a chunk ends
    /// where a counter was reset, the layout changes, or a number follows.
    pub(crate) fn add_histogram(&mut self, labels: Labels, time: i64, histogram: &Histogram) {
        let newest = self.series.get(&labels).and_then(|samples| samples.last_key_value()).map(|sample| *sample.0);
        let samples = self.histograms.entry(labels).or_default();
        let mut histogram = histogram.clone();
        let last = samples.last_key_value();
        let last = last.filter(|last| newest.is_none_or(|newest| newest < *last.0)).map(|last| last.1);
        let hint = histogram.reset_hint;
        histogram.reset_hint = ResetHint::Unknown;
        let continues = last.is_some_and(|last| {
            hint != ResetHint::Reset
                && last.reset_hint != ResetHint::Gauge
                && last.schema == histogram.schema
                && last.zero_threshold == histogram.zero_threshold
                && last.custom_bounds == histogram.custom_bounds
                && !histogram.is_reset_after(last)
        });
        histogram.reset_hint = match hint {
            ResetHint::Gauge => ResetHint::Gauge,
            _ if continues => ResetHint::NoReset,
            _ => ResetHint::Unknown,
        };
        samples.insert(time, Arc::new(histogram));
    }
}

fn satisfies(labels: &Labels, matchers: &[Matcher]) -> bool {
    matchers.iter().all(|matcher| matcher.matches(labels.get(&matcher.name)))
}

impl SeriesSource for Memory {
    fn select(
        &self,
        matchers: &[Matcher],
        from: i64,
        to: i64,
        samples_max: usize,
    ) -> Result<Vec<RawSeries>, EvaluateError> {
        let mut found = Vec::new();
        let mut count = 0;
        for (labels, samples) in &self.series {
            if !satisfies(labels, matchers) || from > to {
                continue;
            }
            let (times, values): (Vec<i64>, Vec<f64>) =
                samples.range(from..=to).map(|(time, value)| (*time, *value)).unzip();
            count += times.len();
            if count > samples_max {
                return Err(EvaluateError::TooManySamples);
            }
            if !times.is_empty() {
                found.push(RawSeries { labels: labels.clone(), times, values });
            }
        }
        Ok(found)
    }

    fn select_histograms(
        &self,
        matchers: &[Matcher],
        from: i64,
        to: i64,
        _samples_max: usize,
    ) -> Result<Vec<RawHistograms>, EvaluateError> {
        let found = self.histograms.iter().filter(|(labels, _)| satisfies(labels, matchers) && from <= to);
        let found = found.map(|(labels, samples)| {
            self.touched_native.set(true);
            let (times, histograms) =
                samples.range(from..=to).map(|(time, histogram)| (*time, Arc::clone(histogram))).unzip();
            RawHistograms { labels: labels.clone(), times, histograms }
        });
        Ok(found.filter(|series| !series.times.is_empty()).collect())
    }
}
