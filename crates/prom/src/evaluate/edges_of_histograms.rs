//! Native histograms at the edges of ranges that are `anchored` or `smoothed`.

use super::columns::{Column, GAP};
use super::evaluator::Evaluator;
use super::ranges::Window;
use super::remarks::{Context, Purpose};
use super::select::{Sampled, TimeShift};
use crate::histogram::{AdditionRemarks, Histogram, Incompatible, ResetHint};
use crate::promql::Edge;
use std::sync::Arc;

/// A histogram and its time.
type Point = (i64, Arc<Histogram>);

impl Context<'_> {
    /// A sum or a difference; `None`, with a warning, if there is none.
    fn remarked(
        self,
        result: Result<(Histogram, AdditionRemarks), Incompatible>,
        purpose: Purpose,
    ) -> Option<Histogram> {
        match result {
            Ok((histogram, added)) => {
                if added.bounds_reconciled {
                    self.query.inform_reconciled(self.offset, purpose);
                }
                Some(histogram)
            }
            Err(_) => {
                self.query.warn_incompatible(self.offset, self.metric);
                None
            }
        }
    }

    /// The histogram between two samples. A counter that was reset begins at 0.
    fn interpolated(self, one: &Point, other: &Point, time: i64, counter: bool) -> Option<Histogram> {
        if time == one.0 {
            return Some(one.1.as_ref().clone());
        }
        if time == other.0 {
            return Some(other.1.as_ref().clone());
        }
        let share = (time - one.0) as f64 / (other.0 - one.0) as f64;
        if counter && other.1.is_reset_after(&one.1) {
            return Some(other.1.times(share));
        }
        let difference = self.remarked(other.1.minus(&one.1), Purpose::Subtraction)?;
        self.remarked(difference.times(share).plus(&one.1), Purpose::Addition)
    }
}

/// The difference between the edges of a range. For a counter, what was lost by resets is added.
pub(super) fn difference(context: Context<'_>, window: &Window<'_>, counter: bool) -> Option<Histogram> {
    let (points, begin, end) = (window.histograms, window.begin, window.end);
    let smoothed = window.edge == Edge::Smoothed;
    let mut last = points.len().checked_sub(1)?;
    let first = points[..last].partition_point(|point| point.0 <= begin).saturating_sub(1);
    if smoothed {
        last = points[..last].partition_point(|point| point.0 < end);
    }
    if points[last].0 <= begin || (smoothed && points[first].0 > end) {
        return None;
    }
    let custom = points[first].1.is_custom();
    let counted = points.get(first..=last)?;
    if counted.iter().any(|point| point.1.is_custom() != custom) {
        context.query.warn_incompatible(context.offset, context.metric);
        return None;
    }
    let is_gauge = |histogram: &Histogram| histogram.reset_hint == ResetHint::Gauge;
    if counter && counted.iter().any(|point| is_gauge(&point.1)) {
        context.query.warn_not_counter(context.offset, context.metric);
    }
    let from_before = smoothed && points[first].0 < begin;
    let left = if from_before {
        context.interpolated(&points[first], points.get(first + 1)?, begin, counter)?
    } else {
        points[first].1.as_ref().clone()
    };
    let right = if smoothed && last > 0 && points[last].0 > end {
        context.interpolated(&points[last - 1], &points[last], end, counter)?
    } else {
        points[last].1.as_ref().clone()
    };
    let gauges = is_gauge(&left) && is_gauge(&right);
    if !counter && !gauges {
        context.query.warn_not_gauge(context.offset, context.metric);
    }
    let mut result = context.remarked(right.minus(&left), Purpose::Subtraction)?;
    if !counter {
        return Some(result);
    }
    // The left edge stands for the first sample, the right one for the last.
    let (mut next, mut previous) = (first + 1, &left);
    if from_before && points[first + 1].1.is_reset_after(&points[first].1) {
        // This reset is part of the left edge.
        (next, previous) = (first + 2, points[first + 1].1.as_ref());
    }
    if next > last {
        return Some(result);
    }
    for histogram in points[next..last].iter().map(|point| point.1.as_ref()).chain([&right]) {
        if histogram.is_reset_after(previous) {
            result = context.remarked(result.plus(previous), Purpose::Addition)?;
        }
        previous = histogram;
    }
    Some(result)
}

impl Evaluator<'_> {
    /// A smoothed series that has histograms: they are interpolated between samples, and the last one counts for the
    /// lookback.
    pub(super) fn smoothed_histograms(&self, start: usize, series: Sampled, time_shift: TimeShift) -> Column {
        let lookback = self.query.limits.lookback_ms;
        let context = Context { query: self.query, offset: start, metric: series.labels.metric() };
        let mut histograms = vec![None; self.grid.count];
        let mut values = vec![GAP; self.grid.count];
        for (step, time) in self.grid.times().enumerate() {
            let time = time_shift.time(time);
            let (from, to) = (time.saturating_sub(lookback), time.saturating_add(lookback));
            let low = series.histograms.partition_point(|point| point.0 <= from);
            let high = series.histograms.partition_point(|point| point.0 <= to).max(low);
            let points = &series.histograms[low..high];
            let low = series.times.partition_point(|other| *other <= from);
            let high = series.times.partition_point(|other| *other <= to).max(low);
            let (times, numbers) = (&series.times[low..high], &series.values[low..high]);
            if points.is_empty() {
                values[step] = super::edges::smoothed(times, numbers, time);
                continue;
            }
            if !times.is_empty() {
                self.query.warn_mixed(start, context.metric);
                continue;
            }
            let next = points.partition_point(|point| point.0 < time);
            let before = next.checked_sub(1).map(|before| &points[before]);
            histograms[step] = match (before, points.get(next)) {
                (_, Some(exact)) if exact.0 == time => Some(Arc::clone(&exact.1)),
                (Some(one), Some(other)) if one.1.is_custom() != other.1.is_custom() => {
                    self.query.warn_incompatible(start, context.metric);
                    None
                }
                (Some(one), Some(other)) => {
                    let gauges = [one, other].iter().all(|point| point.1.reset_hint == ResetHint::Gauge);
                    context.interpolated(one, other, time, !gauges).map(Arc::new)
                }
                // The hint is about two samples and says nothing here.
                (Some(one), None) => Some(Arc::new(one.1.as_ref().clone().with_hint(ResetHint::Unknown))),
                (None, _) => None,
            };
        }
        Column { labels: series.labels, drop_name: false, values, histograms }
    }
}
