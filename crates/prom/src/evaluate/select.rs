//! Selectors: the value of each series at each step, and the samples of ranges.

use super::columns::{Column, GAP, Grid, is_gap, shown_labels};
use super::evaluator::{Evaluator, Hints, Result, fail};
use super::outcome::ResultSeries;
use super::source::RawHistograms;
use crate::histogram::{Histogram, ResetHint};
use crate::labels::{Labels, Matcher};
use crate::promql::{At, Edge, Expr, ExprKind, Selector, Shift};
use std::sync::Arc;

/// The default step of a subquery in milliseconds.
const SUBQUERY_STEP_MS: i64 = 60_000;

/// The modifiers `@` and `offset` in milliseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TimeShift {
    at: Option<i64>,
    offset: i64,
}

impl TimeShift {
    /// The time that is evaluated for a step.
    pub(super) fn time(self, step: i64) -> i64 {
        self.at.unwrap_or(step).saturating_sub(self.offset)
    }

    /// Combines the modifiers with those of an enclosing subquery, which have no effect if the time is fixed.
    pub(super) fn inside(self, outer: Self) -> Self {
        if self.at.is_some() {
            return self;
        }
        Self { at: outer.at, offset: self.offset.saturating_add(outer.offset) }
    }
}

/// A series with the samples that windows are cut from; these hold no stale markers.
pub(super) struct Sampled {
    pub(super) labels: Labels,
    pub(super) drop_name: bool,
    pub(super) times: Vec<i64>,
    pub(super) values: Vec<f64>,
    /// The native histograms, ascending by time. Most series have none.
    pub(super) histograms: Vec<(i64, Arc<Histogram>)>,
}

/// The values that a selector yields at each step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum YieldedValues {
    Samples,
    /// The times of the samples, in milliseconds. Those of histograms come with these.
    Times,
}

/// A range in an expression: its series, and the position of each window.
pub(super) struct Ranged {
    pub(super) series: Vec<Sampled>,
    pub(super) time_shift: TimeShift,
    pub(super) range: i64,
    pub(super) edge: Edge,
}

impl Ranged {
    /// Returns the milliseconds before and after the range in which samples may count.
    pub(super) fn edge_margins(&self, lookback: i64) -> (i64, i64) {
        margins(self.edge, lookback)
    }
}

fn margins(edge: Edge, lookback: i64) -> (i64, i64) {
    match edge {
        Edge::Inside => (0, 0),
        Edge::Anchored => (lookback, 0),
        Edge::Smoothed => (lookback, lookback),
    }
}

impl Evaluator<'_> {
    pub(super) fn time_shift(&self, shift: &Shift) -> Result<TimeShift> {
        let at = shift.at.map(|at| match at {
            At::Time(time) => time,
            At::Start => self.query.grid.start,
            At::End => self.query.end,
        });
        let offset = match &shift.offset {
            Some(span) => self.query.milliseconds(span, true)?,
            None => 0,
        };
        Ok(TimeShift { at, offset })
    }

    /// The series that satisfy conditions, with samples from one time to another, both included.
    fn select(&self, matchers: &[Matcher], from: i64, to: i64) -> Result<Vec<Sampled>> {
        let left = || self.query.limits.samples_max.saturating_sub(self.query.samples.get());
        let series = self.query.source.select(matchers, from, to, left())?;
        // The samples, and the values that are computed from them.
        let samples: usize = series.iter().map(|one| one.times.len()).sum();
        self.query.charge(samples.saturating_add(series.len().saturating_mul(self.grid.count)))?;
        let native = self.query.source.select_histograms(matchers, from, to, left())?;
        self.query.charge(native.len().saturating_mul(self.grid.count))?;
        for histogram in native.iter().flat_map(|one| &one.histograms) {
            self.query.charge_histogram(histogram)?;
        }
        let numbers = series.into_iter().map(|one| Sampled {
            labels: one.labels,
            drop_name: false,
            times: one.times,
            values: one.values,
            histograms: Vec::new(),
        });
        if native.is_empty() {
            return Ok(numbers.collect());
        }
        let mut series = joined(numbers.collect(), native);
        if self.hints == Hints::Determined {
            series.iter_mut().for_each(|one| determine_hints(&mut one.histograms));
        }
        Ok(series)
    }

    /// The value of each series at each step: its last sample, if that is younger than the lookback and not stale.
    pub(super) fn instant(&self, start: usize, selector: &Selector) -> Result<Vec<Column>> {
        let lookback = self.query.limits.lookback_ms;
        let time_shift = self.time_shift(&selector.shift)?;
        let (first, last) = (time_shift.time(self.grid.start), time_shift.time(self.grid.end()));
        if selector.edge != Edge::Inside {
            let series =
                self.select(&selector.matchers, first.saturating_sub(lookback) + 1, last.saturating_add(lookback))?;
            return match selector.edge {
                Edge::Smoothed => Ok(series.into_iter().map(|one| self.smoothed(start, one, time_shift)).collect()),
                _ => Ok(series.into_iter().map(|one| self.sampled(one, time_shift, YieldedValues::Samples)).collect()),
            };
        }
        let series = self.select(&selector.matchers, first.saturating_sub(lookback) + 1, last)?;
        let columns = series.into_iter().map(|one| self.sampled(one, time_shift, YieldedValues::Samples));
        Ok(columns.filter(|column| !column.is_empty()).collect())
    }

    /// The time of the sample that counts for each series at each step, in milliseconds.
    pub(super) fn sample_times(&self, matchers: &[Matcher], time_shift: TimeShift) -> Result<Vec<Column>> {
        let first = time_shift.time(self.grid.start).saturating_sub(self.query.limits.lookback_ms) + 1;
        let series = self.select(matchers, first, time_shift.time(self.grid.end()))?;
        let columns = series.into_iter().map(|one| self.sampled(one, time_shift, YieldedValues::Times));
        Ok(columns.filter(|column| !column.is_empty()).collect())
    }

    fn sampled(&self, series: Sampled, time_shift: TimeShift, yields: YieldedValues) -> Column {
        let lookback = self.query.limits.lookback_ms;
        if !series.histograms.is_empty() {
            return self.sampled_with_histograms(series, time_shift, yields);
        }
        let Sampled { labels, times, values, .. } = series;
        let mut next = 0;
        let cells = self.grid.times().map(|step| {
            let time = time_shift.time(step);
            while next < times.len() && times[next] <= time {
                next += 1;
            }
            let Some(last) = next.checked_sub(1) else { return GAP };
            let stale = is_gap(values[last]) || times[last] <= time.saturating_sub(lookback);
            match yields {
                _ if stale => GAP,
                YieldedValues::Samples => values[last],
                YieldedValues::Times => times[last] as f64,
            }
        });
        let values = cells.collect();
        Column::new(labels, false, values)
    }

    fn sampled_with_histograms(&self, series: Sampled, time_shift: TimeShift, yields: YieldedValues) -> Column {
        let Sampled { labels, times, values, histograms, .. } = series;
        let count = self.grid.count;
        let mut column = Column { labels, drop_name: false, values: vec![GAP; count], histograms: vec![None; count] };
        let (mut next, mut next_native) = (0, 0);
        for (step, time) in self.grid.times().enumerate() {
            let time = time_shift.time(time);
            while next < times.len() && times[next] <= time {
                next += 1;
            }
            while next_native < histograms.len() && histograms[next_native].0 <= time {
                next_native += 1;
            }
            let number = next.checked_sub(1).map(|last| (times[last], values[last]));
            let native = next_native.checked_sub(1).map(|last| &histograms[last]);
            let valid = |sampled: i64| sampled > time.saturating_sub(self.query.limits.lookback_ms);
            match (number, native) {
                (number, Some((sampled, histogram))) if number.is_none_or(|number| number.0 <= *sampled) => {
                    match yields {
                        _ if !valid(*sampled) || is_stale(histogram) => {}
                        YieldedValues::Samples => column.histograms[step] = Some(Arc::clone(histogram)),
                        YieldedValues::Times => {
                            column.values[step] = *sampled as f64;
                            column.histograms[step] = Some(Arc::clone(histogram));
                        }
                    }
                }
                (Some((sampled, value)), _) if valid(sampled) && !is_gap(value) => {
                    column.values[step] = if yields == YieldedValues::Times { sampled as f64 } else { value };
                }
                _ => {}
            }
        }
        column
    }

    /// The series of a range vector.
    pub(super) fn ranged(&self, expr: &Expr) -> Result<Ranged> {
        match &expr.bare().kind {
            ExprKind::Range { selector, range } => {
                let range = self.query.milliseconds(range, false)?;
                let time_shift = self.time_shift(&selector.shift)?;
                let (before, after) = margins(selector.edge, self.query.limits.lookback_ms);
                let from = time_shift.time(self.grid.start).saturating_sub(range).saturating_sub(before) + 1;
                let to = time_shift.time(self.grid.end()).saturating_add(after);
                let series = self.select(&selector.matchers, from, to)?.into_iter().map(without_stale).collect();
                Ok(Ranged { series, time_shift, range, edge: selector.edge })
            }
            ExprKind::Subquery { expr, range, step, shift } => {
                let range = self.query.milliseconds(range, false)?;
                let time_shift = self.time_shift(shift)?;
                let step = match step {
                    Some(step) => self.query.milliseconds(step, false)?.max(1),
                    None => SUBQUERY_STEP_MS,
                };
                let before = time_shift.time(self.grid.start).saturating_sub(range);
                let series = self.subquery(expr, before, time_shift.time(self.grid.end()), step)?;
                Ok(Ranged { series, time_shift, range, edge: Edge::Inside })
            }
            _ => fail("expected a range vector"),
        }
    }

    /// The values of an expression at the multiples of a step after one time and up to another.
    fn subquery(&self, expr: &Expr, before: i64, end: i64, step: i64) -> Result<Vec<Sampled>> {
        let mut start = before / step * step;
        if start <= before {
            start = start.saturating_add(step);
        }
        let grid = Grid::new(start, end, step);
        let inner = Self { query: self.query, grid, hints: Hints::Kept };
        let columns = inner.columns(expr)?;
        self.query.charge(columns.len() * grid.count)?;
        let series = columns.into_iter().map(|column| {
            let points = grid.times().zip(column.values).filter(|(_, value)| !is_gap(*value));
            let (times, values) = points.unzip();
            let histograms = grid.times().zip(column.histograms);
            let histograms = histograms.filter_map(|(time, histogram)| Some((time, unhinted(histogram?))));
            let histograms = histograms.collect();
            Sampled { labels: column.labels, drop_name: column.drop_name, times, values, histograms }
        });
        Ok(series.filter(|one| !one.times.is_empty() || !one.histograms.is_empty()).collect())
    }

    /// The samples of a range vector that is the whole query.
    pub(super) fn raw(&self, expr: &Expr) -> Result<Vec<ResultSeries>> {
        let ranged = self.ranged(expr)?;
        let end = ranged.time_shift.time(self.grid.start);
        let begin = end.saturating_sub(ranged.range);
        let mut found = Vec::new();
        for series in ranged.series {
            let labels = shown_labels(&series.labels, series.drop_name);
            let mut histograms = series.histograms;
            if ranged.edge != Edge::Inside && !histograms.is_empty() {
                let word = if ranged.edge == Edge::Smoothed { "smoothed" } else { "anchored" };
                return fail(format!("{word} modifier is not supported with histograms"));
            }
            histograms.retain(|(time, _)| *time > begin && *time <= end);
            let points: Vec<(i64, f64)> = if ranged.edge == Edge::Inside {
                let points = series.times.into_iter().zip(series.values);
                points.filter(|(time, _)| *time > begin && *time <= end).collect()
            } else {
                super::edges::extended(&series.times, &series.values, (begin, end), ranged.edge == Edge::Smoothed)
            };
            if !points.is_empty() || !histograms.is_empty() {
                found.push(ResultSeries { labels, points, histograms });
            }
        }
        found.sort_by(|one, other| one.labels.cmp(&other.labels));
        Ok(found)
    }

    /// Values between samples are interpolated; after the last sample its value counts for the lookback.
    fn smoothed(&self, start: usize, series: Sampled, time_shift: TimeShift) -> Column {
        let lookback = self.query.limits.lookback_ms;
        let series = without_stale(series);
        if !series.histograms.is_empty() {
            return self.smoothed_histograms(start, series, time_shift);
        }
        let Sampled { labels, times, values, .. } = series;
        let cells = self.grid.times().map(|step| {
            let time = time_shift.time(step);
            let low = times.partition_point(|other| *other <= time.saturating_sub(lookback));
            let high = times.partition_point(|other| *other <= time.saturating_add(lookback));
            super::edges::smoothed(&times[low..high], &values[low..high], time)
        });
        let values = cells.collect();
        Column::new(labels, false, values)
    }
}

/// Adds histograms to the series with the same labels. Both are sorted by labels, and so is the result.
fn joined(numbers: Vec<Sampled>, native: Vec<RawHistograms>) -> Vec<Sampled> {
    let mut series = Vec::with_capacity(numbers.len().max(native.len()));
    let mut numbers = numbers.into_iter().peekable();
    for one in native {
        while let Some(before) = numbers.next_if(|other| other.labels < one.labels) {
            series.push(before);
        }
        let histograms = one.times.into_iter().zip(one.histograms).collect();
        series.push(match numbers.next_if(|other| other.labels == one.labels) {
            Some(same) => Sampled { histograms, ..same },
            None => Sampled { labels: one.labels, drop_name: false, times: Vec::new(), values: Vec::new(), histograms },
        });
    }
    series.extend(numbers);
    series
}

/// Determines unknown hints by comparing each sample with the previous one. The first sample of a series keeps its own.
fn determine_hints(histograms: &mut [(i64, Arc<Histogram>)]) {
    let all: Vec<ResetHint> = histograms
        .windows(2)
        .map(|pair| match (&pair[0].1, &pair[1].1) {
            (_, histogram) if histogram.reset_hint != ResetHint::Unknown => histogram.reset_hint,
            (before, histogram) if is_stale(before) || is_stale(histogram) => ResetHint::Unknown,
            (before, histogram) if histogram.is_reset_after(before) => ResetHint::Reset,
            _ => ResetHint::NoReset,
        })
        .collect();
    for ((_, histogram), hint) in histograms.iter_mut().skip(1).zip(all) {
        if histogram.reset_hint != hint {
            *histogram = Arc::new(histogram.as_ref().clone().with_hint(hint));
        }
    }
}

/// A histogram in a subquery, which skips and repeats samples, so that hints on resets do not hold.
fn unhinted(histogram: Arc<Histogram>) -> Arc<Histogram> {
    match histogram.reset_hint {
        ResetHint::Reset | ResetHint::NoReset => Arc::new(histogram.as_ref().clone().with_hint(ResetHint::Unknown)),
        ResetHint::Unknown | ResetHint::Gauge => histogram,
    }
}

/// Returns whether a histogram is a stale marker, which ends its series.
fn is_stale(histogram: &Histogram) -> bool {
    is_gap(histogram.sum)
}

fn without_stale(mut series: Sampled) -> Sampled {
    series.histograms.retain(|(_, histogram)| !is_stale(histogram));
    let Sampled { labels, mut times, mut values, histograms, .. } = series;
    if values.iter().any(|value| is_gap(*value)) {
        let kept = times.into_iter().zip(values).filter(|(_, value)| !is_gap(*value));
        (times, values) = kept.unzip();
    }
    Sampled { labels, drop_name: false, times, values, histograms }
}
