//! Series in memory.

use atsdb_prom::evaluate::EvaluateError;
use atsdb_prom::labels::{Labels, Matcher};
use atsdb_prom::{RawSeries, SeriesSource};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(crate) struct Memory {
    series: BTreeMap<Labels, BTreeMap<i64, f64>>,
    /// Series with native histograms, which are not stored.
    native: BTreeSet<Labels>,
    /// Whether a query asked for such a series.
    pub(crate) touched_native: Cell<bool>,
}

impl Memory {
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn add(&mut self, labels: Labels, time: i64, value: f64) {
        self.series.entry(labels).or_default().insert(time, value);
    }

    pub(crate) fn add_native(&mut self, labels: Labels) {
        self.native.insert(labels);
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
        if self.native.iter().any(|labels| satisfies(labels, matchers)) {
            self.touched_native.set(true);
        }
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
}
