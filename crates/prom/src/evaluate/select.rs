//! Selectors: the value of each series at each step, and the samples of ranges.

use super::columns::{Column, GAP, Grid, is_gap, shown_labels};
use super::evaluator::{Evaluator, Result, fail};
use super::outcome::ResultSeries;
use super::source::RawSeries;
use crate::labels::{Labels, Matcher};
use crate::promql::{At, Edge, Expr, ExprKind, Selector, Shift};

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

/// A series with the samples that windows are cut from. It holds no stale markers.
pub(super) struct Sampled {
    pub(super) labels: Labels,
    pub(super) drop_name: bool,
    pub(super) times: Vec<i64>,
    pub(super) values: Vec<f64>,
}

/// A range in an expression: its series, and the position of each window.
pub(super) struct Ranged {
    pub(super) series: Vec<Sampled>,
    pub(super) time_shift: TimeShift,
    pub(super) range: i64,
    pub(super) edge: Edge,
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
    fn select(&self, matchers: &[Matcher], from: i64, to: i64) -> Result<Vec<RawSeries>> {
        let left = self.query.limits.samples_max.saturating_sub(self.query.samples.get());
        let series = self.query.source.select(matchers, from, to, left)?;
        // The samples, and the values that are computed from them.
        let samples: usize = series.iter().map(|one| one.times.len()).sum();
        self.query.charge(samples.saturating_add(series.len().saturating_mul(self.grid.count)))?;
        Ok(series)
    }

    /// The value of each series at each step: its last sample, if that is younger than the lookback and not stale.
    pub(super) fn instant(&self, selector: &Selector) -> Result<Vec<Column>> {
        let lookback = self.query.limits.lookback_ms;
        let time_shift = self.time_shift(&selector.shift)?;
        let (first, last) = (time_shift.time(self.grid.start), time_shift.time(self.grid.end()));
        if selector.edge != Edge::Inside {
            let series =
                self.select(&selector.matchers, first.saturating_sub(lookback) + 1, last.saturating_add(lookback))?;
            return match selector.edge {
                Edge::Smoothed => Ok(series.into_iter().map(|one| self.smoothed(one, time_shift)).collect()),
                _ => Ok(series.into_iter().map(|one| self.sampled(one, time_shift, |_, value| value)).collect()),
            };
        }
        let series = self.select(&selector.matchers, first.saturating_sub(lookback) + 1, last)?;
        let columns = series.into_iter().map(|one| self.sampled(one, time_shift, |_, value| value));
        Ok(columns.filter(|column| !column.is_empty()).collect())
    }

    /// The time of the sample that counts for each series at each step, in milliseconds.
    pub(super) fn sample_times(&self, matchers: &[Matcher], time_shift: TimeShift) -> Result<Vec<Column>> {
        let first = time_shift.time(self.grid.start).saturating_sub(self.query.limits.lookback_ms) + 1;
        let series = self.select(matchers, first, time_shift.time(self.grid.end()))?;
        let columns = series.into_iter().map(|one| self.sampled(one, time_shift, |time, _| time as f64));
        Ok(columns.filter(|column| !column.is_empty()).collect())
    }

    fn sampled(&self, series: RawSeries, time_shift: TimeShift, value: impl Fn(i64, f64) -> f64) -> Column {
        let lookback = self.query.limits.lookback_ms;
        let RawSeries { labels, times, values } = series;
        let mut next = 0;
        let cells = self.grid.times().map(|step| {
            let time = time_shift.time(step);
            while next < times.len() && times[next] <= time {
                next += 1;
            }
            let Some(last) = next.checked_sub(1) else { return GAP };
            let stale = is_gap(values[last]) || times[last] <= time.saturating_sub(lookback);
            if stale { GAP } else { value(times[last], values[last]) }
        });
        Column { values: cells.collect(), labels, drop_name: false }
    }

    /// The series of a range vector.
    pub(super) fn ranged(&self, expr: &Expr) -> Result<Ranged> {
        match &expr.bare().kind {
            ExprKind::Range { selector, range } => {
                let range = self.query.milliseconds(range, false)?;
                let time_shift = self.time_shift(&selector.shift)?;
                let lookback = self.query.limits.lookback_ms;
                let (before, after) = match selector.edge {
                    Edge::Inside => (0, 0),
                    Edge::Anchored => (lookback, 0),
                    Edge::Smoothed => (lookback, lookback),
                };
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
                // The first multiple of the step that is in the range, which is open on the left.
                let mut start = before / step * step;
                if start <= before {
                    start = start.saturating_add(step);
                }
                let grid = Grid::new(start, time_shift.time(self.grid.end()), step);
                let inner = Self { query: self.query, grid };
                let columns = inner.columns(expr)?;
                self.query.charge(columns.len() * grid.count)?;
                let series = columns.into_iter().map(|column| {
                    let points = grid.times().zip(column.values).filter(|(_, value)| !is_gap(*value));
                    let (times, values) = points.unzip();
                    Sampled { labels: column.labels, drop_name: column.drop_name, times, values }
                });
                let series = series.filter(|one| !one.times.is_empty()).collect();
                Ok(Ranged { series, time_shift, range, edge: Edge::Inside })
            }
            _ => fail("expected a range vector"),
        }
    }

    /// The samples of a range vector that is the whole query.
    pub(super) fn raw(&self, expr: &Expr) -> Result<Vec<ResultSeries>> {
        let ranged = self.ranged(expr)?;
        let end = ranged.time_shift.time(self.grid.start);
        let begin = end.saturating_sub(ranged.range);
        let mut found = Vec::new();
        for series in ranged.series {
            let labels = shown_labels(&series.labels, series.drop_name);
            let points: Vec<(i64, f64)> = if ranged.edge == Edge::Inside {
                let points = series.times.into_iter().zip(series.values);
                points.filter(|(time, _)| *time > begin && *time <= end).collect()
            } else {
                super::edges::extended(&series.times, &series.values, (begin, end), ranged.edge == Edge::Smoothed)
            };
            if !points.is_empty() {
                found.push(ResultSeries { labels, points });
            }
        }
        found.sort_by(|one, other| one.labels.cmp(&other.labels));
        Ok(found)
    }

    /// Values between samples are interpolated; after the last sample its value counts for the lookback.
    fn smoothed(&self, series: RawSeries, time_shift: TimeShift) -> Column {
        let lookback = self.query.limits.lookback_ms;
        let Sampled { labels, times, values, .. } = without_stale(series);
        let cells = self.grid.times().map(|step| {
            let time = time_shift.time(step);
            let low = times.partition_point(|other| *other <= time.saturating_sub(lookback));
            let high = times.partition_point(|other| *other <= time.saturating_add(lookback));
            let (times, values) = (&times[low..high], &values[low..high]);
            let next = times.partition_point(|other| *other < time);
            match (next.checked_sub(1), times.get(next)) {
                (_, Some(exact)) if *exact == time => values[next],
                (Some(before), Some(_)) => {
                    let points = ((times[before], values[before]), (times[next], values[next]));
                    super::edges::interpolate(points, time, false)
                }
                (Some(before), None) => values[before],
                (None, _) => GAP,
            }
        });
        Column { values: cells.collect(), labels, drop_name: false }
    }
}

fn without_stale(series: RawSeries) -> Sampled {
    let RawSeries { labels, mut times, mut values } = series;
    if values.iter().any(|value| is_gap(*value)) {
        let kept = times.into_iter().zip(values).filter(|(_, value)| !is_gap(*value));
        (times, values) = kept.unzip();
    }
    Sampled { labels, drop_name: false, times, values }
}
