//! An instant vector over all steps of a query: one column of values for each series.

use super::outcome::Sample;
use super::source::STALE_BITS;
use crate::histogram::Histogram;
use crate::labels::Labels;
use std::collections::HashMap;
use std::sync::Arc;

/// The value of a step without a value. Arithmetic never yields these bits; they are compared as bits.
pub(super) const GAP: f64 = f64::from_bits(STALE_BITS);

/// Returns whether a step has no value.
pub(super) fn is_gap(value: f64) -> bool {
    value.to_bits() == STALE_BITS
}

/// The times at which an expression is evaluated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    pub(super) start: i64,
    pub(super) step: i64,
    pub(super) count: usize,
}

impl Grid {
    /// The times from `start` to `end`, both included.
    pub(super) fn new(start: i64, end: i64, step: i64) -> Self {
        let step = step.max(1);
        let count = if end < start { 0 } else { (end.saturating_sub(start) / step) as usize + 1 };
        Self { start, step, count }
    }

    pub(super) fn at(&self, index: usize) -> i64 {
        self.start + self.step * index as i64
    }

    pub(super) fn end(&self) -> i64 {
        self.at(self.count.saturating_sub(1))
    }

    pub(super) fn times(self) -> impl Iterator<Item = i64> {
        (0..self.count).map(move |index| self.at(index))
    }
}

/// One series: for each step a number, a histogram, or nothing.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) labels: Labels,
    /// Whether name, type and unit are dropped when the result leaves the query.
    pub(super) drop_name: bool,
    /// A [`GAP`] where there is no number.
    pub(super) values: Vec<f64>,
    /// Empty if the series has no histograms; otherwise one for each step.
    pub(super) histograms: Vec<Option<Arc<Histogram>>>,
}

impl Column {
    /// A column of numbers.
    pub(super) fn new(labels: Labels, drop_name: bool, values: Vec<f64>) -> Self {
        Self { labels, drop_name, values, histograms: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.iter().all(|value| is_gap(*value)) && self.histograms.iter().all(Option::is_none)
    }

    /// The histogram of a step.
    pub(super) fn histogram(&self, step: usize) -> Option<&Arc<Histogram>> {
        self.histograms.get(step)?.as_ref()
    }

    /// Returns whether the series has a sample at a step, a number or a histogram.
    pub(super) fn has(&self, step: usize) -> bool {
        !is_gap(self.values[step]) || self.histogram(step).is_some()
    }

    /// The number or the histogram of a step.
    pub(super) fn sample(&self, step: usize) -> Option<Sample> {
        match self.histogram(step) {
            Some(histogram) => Some(Sample::Histogram(Arc::clone(histogram))),
            None => (!is_gap(self.values[step])).then(|| Sample::Number(self.values[step])),
        }
    }

    /// Sets a step that has nothing yet.
    pub(super) fn set(&mut self, step: usize, sample: Sample) -> Result<(), SameLabels> {
        if self.has(step) {
            return Err(SameLabels);
        }
        match sample {
            Sample::Number(value) => self.values[step] = value,
            Sample::Histogram(histogram) => {
                self.histograms.resize(self.values.len(), None);
                self.histograms[step] = Some(histogram);
            }
        }
        Ok(())
    }

    /// Takes what a step has.
    pub(super) fn clear(&mut self, step: usize) {
        self.values[step] = GAP;
        if let Some(histogram) = self.histograms.get_mut(step) {
            *histogram = None;
        }
    }
}

/// A column without labels: how a scalar is computed.
pub(super) fn scalar(values: Vec<f64>) -> Vec<Column> {
    vec![Column::new(Labels::default(), false, values)]
}

/// Two series with the same labels have a value at the same time.
#[derive(Debug)]
pub(super) struct SameLabels;

/// Merges columns with equal labels, if no two have a value at the same step.
pub(super) fn merge_equal(columns: Vec<Column>) -> Result<Vec<Column>, SameLabels> {
    let mut numbers: HashMap<Labels, usize> = HashMap::with_capacity(columns.len());
    let mut merged: Vec<Column> = Vec::with_capacity(columns.len());
    for column in columns {
        let Some(number) = numbers.get(&column.labels) else {
            numbers.insert(column.labels.clone(), merged.len());
            merged.push(column);
            continue;
        };
        for (value, other) in merged[*number].values.iter_mut().zip(&column.values) {
            match (is_gap(*value), is_gap(*other)) {
                (_, true) => {}
                (true, false) => *value = *other,
                (false, false) => return Err(SameLabels),
            }
        }
        let merged = &mut merged[*number];
        if !merged.histograms.is_empty() || !column.histograms.is_empty() {
            merge_histograms(merged, &column)?;
        }
    }
    Ok(merged)
}

/// Adds the histograms of another column. The numbers are merged already.
fn merge_histograms(merged: &mut Column, column: &Column) -> Result<(), SameLabels> {
    for step in 0..column.values.len() {
        let (one, other) = (merged.histogram(step).is_some(), column.histogram(step));
        if one && (other.is_some() || !is_gap(column.values[step])) {
            return Err(SameLabels);
        }
        if let Some(histogram) = other {
            merged.set(step, Sample::Histogram(Arc::clone(histogram)))?;
        }
    }
    Ok(())
}

/// Drops the name of a series, if it is to be dropped.
pub(super) fn shown_labels(labels: &Labels, drop_name: bool) -> Labels {
    if drop_name { labels.without_metadata() } else { labels.clone() }
}
